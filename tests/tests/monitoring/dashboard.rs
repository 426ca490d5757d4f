//! The dashboard's queries, as Grafana would send them.

use std::fs;

use anyhow::{Result, ensure};
use serde_json::Value;

use crate::prometheus::shipped;

/// One query, with its panel.
pub struct Query {
    pub panel: String,
    pub text: String,
}

/// All queries, with the variables filled in.
pub fn queries() -> Result<Vec<Query>> {
    let dashboard: Value = serde_json::from_slice(&fs::read(shipped("dashboard.json"))?)?;
    let panels = dashboard["panels"].as_array().into_iter().flatten();
    let queries: Vec<_> = panels.flat_map(of_panel).collect();
    ensure!(
        queries.len() > 40,
        "only {} queries were found",
        queries.len()
    );
    for query in &queries {
        ensure!(
            !query.text.contains('$'),
            "{}: a variable that is not known here: {}",
            query.panel,
            query.text
        );
    }
    Ok(queries)
}

fn of_panel(panel: &Value) -> Vec<Query> {
    let title = panel["title"].as_str().unwrap_or_default();
    let targets = panel["targets"].as_array().into_iter().flatten();
    let texts = targets.filter_map(|target| target["expr"].as_str());
    let query = |text: &str| Query {
        panel: title.to_owned(),
        text: text
            .replace("$node", ".*")
            .replace("$__rate_interval", "30s"),
    };
    texts.map(query).collect()
}

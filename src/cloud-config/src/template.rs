//! The template, strictly: a variable that the host does not know is refused by name, in a branch
//! that is not taken too. cloud-init would put a mark in its place and go on.

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, UndefinedBehavior, Value};

use crate::facts::Facts;
use crate::refused::Refused;

/// How many operations a template may take. The largest of the kubeadm provider takes some tens.
const FUEL: u64 = 100_000;

/// The groups of variables, which a template can name on their own.
const GROUPS: [&str; 3] = ["ds", "ds.meta_data", "v1"];

type Group = BTreeMap<&'static str, Value>;

pub(crate) fn render(text: &str, facts: &Facts) -> Result<String, Refused> {
    let mut environment = Environment::new();
    // As cloud-init does (cloudinit/templater.py).
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .keep_trailing_newline(true)
        .build()
        .map_err(|_| Refused::Template { line: 0 })?;
    environment.set_syntax(syntax);
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_fuel(Some(FUEL));
    let template = environment.template_from_str(text).map_err(not_valid)?;
    let groups = groups(facts);
    let known = names(&groups);
    let mut used: Vec<String> = template.undeclared_variables(true).into_iter().collect();
    used.sort();
    let is_known = |name: &String| known.contains(name) || GROUPS.contains(&name.as_str());
    match used.into_iter().find(|name| !is_known(name)) {
        Some(name) => Err(Refused::Variable {
            name,
            known: known.join(", "),
        }),
        None => template.render(values(groups)).map_err(not_valid),
    }
}

fn groups(facts: &Facts) -> [Group; 2] {
    let text = |text: &str| Value::from(text);
    let mut meta_data = Group::from([
        ("instance_id", text(&facts.instance_id)),
        ("local_hostname", text(&facts.hostname)),
        ("hostname", text(&facts.hostname)),
        ("provider_id", text(&facts.provider_id)),
    ]);
    if let Some(domain) = &facts.failure_domain {
        meta_data.insert("failure_domain", text(domain));
    }
    let v1 = Group::from([
        ("instance_id", text(&facts.instance_id)),
        ("local_hostname", text(&facts.hostname)),
        ("cloud_name", text("careen")),
    ]);
    [meta_data, v1]
}

fn names([meta_data, v1]: &[Group; 2]) -> Vec<String> {
    let of_meta_data = meta_data.keys().map(|name| format!("ds.meta_data.{name}"));
    of_meta_data
        .chain(v1.keys().map(|name| format!("v1.{name}")))
        .collect()
}

fn values([meta_data, v1]: [Group; 2]) -> Value {
    let ds = Group::from([("meta_data", Value::from(meta_data))]);
    Value::from(Group::from([
        ("ds", Value::from(ds)),
        ("v1", Value::from(v1)),
    ]))
}

fn not_valid(error: minijinja::Error) -> Refused {
    let line = error.line().unwrap_or_default();
    Refused::Template { line }
}

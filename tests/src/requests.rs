//! How many requests come with one credential, by the API server's own books: what goes through the wire is encrypted.

use anyhow::Result;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::node::TestNode;

/// What the server counts, by flow schema; a watch counts once, when it begins.
const COUNTED: &str = "apiserver_flowcontrol_dispatched_requests_total";

/// The books of one user.
pub struct Requests {
    admin: Client,
    schema: String,
}

impl Requests {
    /// Those of a Node's own credential.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn of(node: &TestNode) -> Result<Self> {
        let user = format!("system:node:{}", node.name);
        Self::of_user(&node.admin, &node.name, &user).await
    }

    /// Has the server keep them, with a flow schema of the user's own. Whatever was counted before it was taken up is not in
    /// it: only a difference means anything.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn of_user(admin: &Client, schema: &str, user: &str) -> Result<Self> {
        let everything = json!({
            "verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": true, "namespaces": ["*"],
        });
        let rule = json!({
            "subjects": [{ "kind": "User", "user": { "name": user } }],
            "resourceRules": [everything],
            "nonResourceRules": [{ "verbs": ["*"], "nonResourceURLs": ["*"] }],
        });
        let object = json!({
            "metadata": { "name": schema },
            "spec": {
                "priorityLevelConfiguration": { "name": "node-high" }, "matchingPrecedence": 100, "rules": [rule],
            },
        });
        let schemas: Api<FlowSchema> = Api::all(admin.clone());
        schemas
            .create(&PostParams::default(), &serde_json::from_value(object)?)
            .await?;
        Ok(Self {
            admin: admin.clone(),
            schema: schema.to_owned(),
        })
    }

    /// How many there were so far.
    ///
    /// # Errors
    /// When the API server does not say.
    pub async fn so_far(&self) -> Result<u64> {
        let request = http::Request::get("/metrics").body(Vec::new())?;
        let text = self.admin.request_text(request).await?;
        let own = format!("flow_schema=\"{}\"", self.schema);
        let counted = text
            .lines()
            .filter(|line| line.starts_with(COUNTED) && line.contains(&own))
            .filter_map(|line| line.rsplit(' ').next()?.parse::<u64>().ok());
        Ok(counted.sum())
    }
}

//! How many requests arrive with one credential, as the API server counts them. The traffic in the
//! wire is encrypted.

use anyhow::Result;
use k8s_openapi::api::flowcontrol::v1::FlowSchema;
use kube::Client;
use kube::api::{Api, PostParams};
use serde_json::json;

use crate::node::TestNode;

/// The server's counter by flow schema. A watch counts once, when it begins.
const COUNTED: &str = "apiserver_flowcontrol_dispatched_requests_total";

/// The request count of one user.
pub struct Requests {
    admin: Client,
    schema: String,
}

impl Requests {
    /// The count for a Node's own credential.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn of(node: &TestNode) -> Result<Self> {
        let user = format!("system:node:{}", node.name);
        Self::of_user(&node.admin, &node.name, &user).await
    }

    /// Makes the server count them, with a flow schema for this user. The count does not include
    /// requests from before the server applied the schema, so only differences are meaningful.
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

    /// The number of requests so far.
    ///
    /// # Errors
    /// When the API server does not report a count.
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

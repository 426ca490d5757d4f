//! A kubeconfig with only the permissions of a ServiceAccount.

use anyhow::{Context, Result};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Client;
use kube::api::{Api, PostParams};
use kube::config::{AuthInfo, Kubeconfig};
use serde_json::json;

use crate::control_plane::ControlPlane;

/// The administrator's kubeconfig, but with a token of a ServiceAccount (namespace and name).
///
/// # Errors
///
/// Fails when there is no such account.
pub async fn kubeconfig_of(
    plane: &ControlPlane,
    admin: &Client,
    (namespace, name): (&str, &str),
) -> Result<Kubeconfig> {
    let accounts: Api<ServiceAccount> = Api::namespaced(admin.clone(), namespace);
    let request: TokenRequest =
        serde_json::from_value(json!({ "spec": { "audiences": [], "expirationSeconds": 86400 } }))?;
    let answer = accounts
        .create_token_request(name, &PostParams::default(), &request)
        .await?;
    let token = answer.status.context("no token")?.token;
    let mut content = Kubeconfig::read_from(plane.admin_kubeconfig())?;
    for user in &mut content.auth_infos {
        user.auth_info = Some(AuthInfo {
            token: Some(token.clone().into()),
            ..AuthInfo::default()
        });
    }
    Ok(content)
}

//! One pod's eviction, asked for until the server lets it happen.

use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, EvictParams, PostParams, Preconditions};
use kube::core::Request;
use kube::{Client, Resource};

use super::budget::{Refusal, refusal};
use super::pods::Victim;
use crate::cluster::{ApiError, limited};

/// What the server said to one request for an eviction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// It is on its way out.
    Going,
    /// A disruption budget does not allow it now.
    Budget(String),
    /// Not now; the server's words.
    Later(String),
    /// No, and asking again would not help; the server's words.
    Refused(String),
}

/// Asks for one eviction; `dry` asks what would happen.
pub async fn evict(client: &Client, victim: &Victim, dry: bool) -> Answer {
    let parameters = EvictParams {
        delete_options: Some(only(victim)),
        post_options: PostParams {
            dry_run: dry,
            ..PostParams::default()
        },
    };
    let request = pods(victim)
        .evict(&victim.name, &parameters)
        .map_err(kube::Error::BuildRequest);
    match send(client, request).await {
        Ok(()) => Answer::Going,
        Err(ApiError::Blocked(status)) => match refusal(&status) {
            Refusal::Budget(name) => Answer::Budget(format!("{}/{name}", victim.namespace)),
            Refusal::Busy => Answer::Later(status.message.clone()),
        },
        // Missing may be a pod that admission has not heard of yet: whether it is gone, the list alone tells.
        Err(error @ (ApiError::Away(_) | ApiError::Missing | ApiError::Conflict)) => {
            Answer::Later(error.to_string())
        }
        Err(ApiError::Refused(detail) | ApiError::Unfit(detail)) => Answer::Refused(detail),
    }
}

/// Deletes a pod past its budget, with its own grace period.
pub async fn delete(client: &Client, victim: &Victim) -> Result<(), ApiError> {
    let request = pods(victim)
        .delete(&victim.name, &only(victim))
        .map_err(kube::Error::BuildRequest);
    match send(client, request).await {
        Ok(()) | Err(ApiError::Missing | ApiError::Conflict) => Ok(()),
        Err(other) => Err(other),
    }
}

/// A successor of the same name (a StatefulSet's) must not go in its predecessor's stead.
fn only(victim: &Victim) -> DeleteParams {
    let uid = Preconditions {
        uid: Some(victim.uid.clone()),
        resource_version: None,
    };
    DeleteParams {
        preconditions: Some(uid),
        ..DeleteParams::default()
    }
}

fn pods(victim: &Victim) -> Request {
    Request::new(Pod::url_path(&(), Some(&victim.namespace)))
}

/// What is answered besides success or failure (the pod as it was) is of no use.
async fn send(
    client: &Client,
    request: kube::Result<http::Request<Vec<u8>>>,
) -> Result<(), ApiError> {
    limited(client.request_text(request?)).await.map(drop)
}

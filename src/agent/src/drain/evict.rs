//! Requests to evict or delete pods, and what the server answers.

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, EvictParams, PostParams, Preconditions};
use kube::core::{Request, Status};
use kube::{Client, Resource};
use tracing::warn;

use super::budget::{Refusal, refusal};
use super::pods::Victim;
use crate::cluster::{ApiError, admitted};

/// The server's answer to one eviction request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The pod is terminating.
    Going,
    /// A disruption budget does not allow it now.
    Budget(String),
    /// Not now, and the server or a webhook says so, with the message: 429 without a budget. That
    /// is how a webhook says that a pod cannot be moved yet, and an overloaded server as well.
    PutOff(String),
    /// Not now, with what was in the way: no answer, or a pod that is changing.
    Later(String),
    /// The server fails at it, with its message: a pod under two budgets, or a webhook that does
    /// not answer. The latter may pass.
    Failing(String),
    /// Refused, and a retry would not help, with the server's message.
    Refused(String),
}

/// How many requests run at the same time.
const PARALLEL: usize = 10;

/// The API server lists the pod, and its eviction does not find it.
const UNKNOWN: &str = "the API server lists this pod but finds none to evict: it has just ended, or has just been created; the next list of pods decides";

/// Requests one eviction. `dry` asks what would happen.
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
        Ok(None) => Answer::Going,
        Ok(Some(failure)) => Answer::Failing(failure),
        Err(ApiError::Blocked(status)) => match refusal(&status) {
            Refusal::Budget(name) => Answer::Budget(format!("{}/{name}", victim.namespace)),
            Refusal::Busy => Answer::PutOff(status.message.clone()),
        },
        // A missing pod may be one that admission does not know yet. Only the list shows whether it
        // is gone.
        Err(ApiError::Missing) => Answer::Later(UNKNOWN.to_owned()),
        Err(error @ (ApiError::Away(_) | ApiError::Conflict)) => Answer::Later(error.to_string()),
        Err(ApiError::Refused(detail) | ApiError::Unfit(detail)) => Answer::Refused(detail),
    }
}

/// Deletes a pod in spite of its budget, with this grace period in seconds.
pub async fn delete(client: &Client, victim: &Victim, grace: u64) -> Result<(), ApiError> {
    let parameters = DeleteParams {
        grace_period_seconds: Some(u32::try_from(grace).unwrap_or(u32::MAX)),
        ..only(victim)
    };
    let request = pods(victim)
        .delete(&victim.name, &parameters)
        .map_err(kube::Error::BuildRequest);
    match send(client, request).await {
        Ok(None) | Err(ApiError::Missing | ApiError::Conflict) => Ok(()),
        Ok(Some(failure)) => Err(ApiError::Away(failure)),
        Err(other) => Err(other),
    }
}

/// Prevents the deletion of a successor with the same name (a StatefulSet's) in place of its
/// predecessor.
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

/// Discards the body of the answer (the pod as it was), and keeps only success or failure.
async fn send(
    client: &Client,
    request: kube::Result<http::Request<Vec<u8>>>,
) -> Result<Option<String>, ApiError> {
    let request = request?;
    let answer = async {
        match client.request_text(request).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) if is_a_failure(&status) => {
                Ok(Some(format!("{} ({})", status.message, status.code)))
            }
            Err(error) => Err(error),
        }
    };
    admitted(answer).await
}

/// Whether the message is the server's answer about this pod, unlike that of a request that found
/// no server. It answers 504 where its webhooks together take longer than it waits.
const fn is_a_failure(status: &Status) -> bool {
    matches!(status.code, 500 | 504)
}

/// Evicts these pods, or asks whether the server would, side by side.
pub(super) async fn all(client: &Client, victims: Vec<Victim>, dry: bool) -> Vec<(Victim, Answer)> {
    futures::stream::iter(
        victims
            .into_iter()
            .map(|victim| ask_one(client.clone(), victim, dry)),
    )
    .buffer_unordered(PARALLEL)
    .collect()
    .await
}

async fn ask_one(client: Client, victim: Victim, dry: bool) -> (Victim, Answer) {
    let answer = evict(&client, &victim, dry).await;
    (victim, answer)
}

/// Deletes these pods, each with its grace period in seconds. Returns the UIDs of those that end.
pub(super) async fn delete_all(client: &Client, victims: Vec<(u64, Victim)>) -> Vec<String> {
    let deleted = victims
        .into_iter()
        .map(|(grace, victim)| delete_one(client.clone(), victim, grace));
    let deleted: Vec<_> = futures::stream::iter(deleted)
        .buffer_unordered(PARALLEL)
        .collect()
        .await;
    deleted.into_iter().flatten().collect()
}

async fn delete_one(client: Client, victim: Victim, grace: u64) -> Option<String> {
    match delete(&client, &victim, grace).await {
        Ok(()) => Some(victim.uid),
        Err(error) => {
            warn!("cannot delete pod {victim}: {error}");
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn webhooks_that_take_too_long_are_an_answer_about_the_pod() {
        let failure = |code| is_a_failure(&Status::failure("words", "").with_code(code));
        assert!(failure(500) && failure(504));
        assert!(!failure(503) && !failure(429));
    }
}

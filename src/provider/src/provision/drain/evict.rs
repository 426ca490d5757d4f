//! Asks the pods of a node to leave, by the Eviction API alone: it respects each
//! PodDisruptionBudget. Nothing is ever deleted against one.

use futures::StreamExt;
use infrastructure::{DrainFacts, Moving, PodToGo, next_pods};
use k8s_openapi::api::core::v1;
use kube::Client;
use kube::api::{Api, DeleteParams, EvictParams, Preconditions};

use super::refusal::{self, Refusal};
use super::round::Round;
use super::{pods, volumes};
use crate::clock::now;
use crate::writes::{WriteError, limited};

/// How many requests run at the same time.
const PARALLEL: usize = 10;

/// Asks the pods whose turn it is to leave. [`next_pods`] says which.
pub(super) async fn round(
    client: &Client,
    node: &str,
    moving: Option<&Moving>,
) -> Result<Round, WriteError> {
    let found = pods::on_node(client, node).await?;
    let attached = match moving.is_some() || found.pods.iter().any(|pod| !pod.claims.is_empty()) {
        true => volumes::attached(client, node).await?,
        false => Vec::new(),
    };
    let next = next_pods(&DrainFacts {
        now: now(),
        pods: &found.pods,
        kept: &found.kept,
        moving,
        attached: &attached,
    });
    if let Some(overdue) = &next.overdue {
        tracing::warn!(node, "{overdue}: the next pod is asked to leave");
    }
    let mut refusals = all(client, next.together).await?;
    let mut moving = next.moving;
    for pod in next.in_turn {
        let volumes = volumes::of(client, pod).await?;
        match ask(client.clone(), pod.clone()).await? {
            Some(refusal) => refusals.push(refusal),
            None => {
                moving = Some(Moving::new(pod, volumes, &attached, now()));
                break;
            }
        }
    }
    Ok(Round {
        left: next.left,
        held: worst(refusals),
        moving,
    })
}

/// A refusal that a person must end goes before one that ends by itself.
fn worst(mut refusals: Vec<Refusal>) -> Option<String> {
    refusals.sort_by_key(|refusal| !refusal.for_ever);
    refusals.into_iter().next().map(|refusal| refusal.text)
}

async fn all(client: &Client, pods: Vec<&PodToGo>) -> Result<Vec<Refusal>, WriteError> {
    let asked = pods.into_iter().cloned();
    let asked = asked.map(|pod| ask(client.clone(), pod));
    let answers: Vec<_> = futures::stream::iter(asked)
        .buffered(PARALLEL)
        .collect()
        .await;
    let refusals: Result<Vec<_>, _> = answers.into_iter().collect();
    Ok(refusals?.into_iter().flatten().collect())
}

/// What holds the pod, if it does not leave. The UID is a condition: a successor of the same name
/// may run elsewhere.
async fn ask(client: Client, pod: PodToGo) -> Result<Option<Refusal>, WriteError> {
    let preconditions = Preconditions {
        uid: Some(pod.uid.clone()),
        resource_version: None,
    };
    let parameters = EvictParams {
        delete_options: Some(DeleteParams {
            preconditions: Some(preconditions),
            ..DeleteParams::default()
        }),
        ..EvictParams::default()
    };
    let api: Api<v1::Pod> = Api::namespaced(client.clone(), &pod.space);
    let answer = async {
        match api.evict(&pod.name, &parameters).await {
            Ok(_) => Ok(None),
            Err(kube::Error::Api(status)) => Ok(Some(status)),
            Err(error) => Err(error),
        }
    };
    match limited(answer).await? {
        Some(status) => Ok(refusal::read(&client, &pod, &status).await),
        None => Ok(None),
    }
}

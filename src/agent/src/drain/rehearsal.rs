//! Dry runs of the drain, before the cordon: for the rehearsal of an upgrade, and for a plan.

use std::collections::HashMap;

use k8s_openapi::jiff::Timestamp;
use kube::Client;
use tokio::time::sleep;
use upgrade::plan::Rehearsed;
use upgrade::{Reason, policy};

use super::answers::{self, AGAIN, after_a_pause, foreseen, is_settled};
use super::evict::{Answer, all};
use super::own_pods::own_pods;
use super::pods::{self, Found, Victim};
use super::slow_pods;
use crate::cluster::{ApiError, Cluster};

/// Does a dry run of the drain, without cordoning the node or touching a pod.
///
/// # Errors
/// The API server is unreachable or refuses.
pub async fn rehearse(
    cluster: &Cluster,
    node: &str,
    policy: &policy::Drain,
) -> Result<Option<Reason>, ApiError> {
    let client = cluster.client().await?;
    let found = own_pods(&client, node, pods::found).await?;
    let warning = slow_pods::warning(&found, policy, Timestamp::now());
    let answers = dry_run(&client, victims(found)).await;
    Ok(foreseen(&answers).or(warning))
}

/// Asks once more, after a pause, about the pods whose answer may pass.
async fn dry_run(client: &Client, victims: Vec<Victim>) -> Vec<(Victim, Answer)> {
    let answers = all(client, victims, true).await.into_iter();
    let (mut settled, doubtful): (Vec<_>, Vec<_>) =
        answers.partition(|(_, answer)| is_settled(answer));
    if !doubtful.is_empty() {
        sleep(AGAIN).await;
        let first: HashMap<_, _> = doubtful.into_iter().collect();
        let again = all(client, first.keys().cloned().collect(), true).await;
        settled.extend(again.into_iter().map(|(victim, second)| {
            let answer = match first.get(&victim) {
                Some(first) => after_a_pause(first, second),
                None => second,
            };
            (victim, answer)
        }));
    }
    settled
}

/// Does a dry run of the drain. Names every pod that would move, every pod that would not, and
/// those that the node gets again or keeps.
///
/// # Errors
/// As [`rehearse`].
pub async fn preview(
    cluster: &Cluster,
    node: &str,
    policy: &policy::Drain,
) -> Result<Rehearsed, ApiError> {
    let client = cluster.client().await?;
    let pods = own_pods(&client, node, pods::told).await?;
    let mut returning: Vec<_> = pods.iter().filter_map(|pod| pod.returns.clone()).collect();
    returning.sort();
    let found: Vec<_> = pods.into_iter().filter_map(|pod| pod.moves).collect();
    let slow = slow_pods::slow_pods(&found, policy, Timestamp::now());
    let victims = victims(found);
    let mut moving: Vec<_> = victims.iter().map(ToString::to_string).collect();
    moving.sort();
    let mut blocked = answers::holders(&dry_run(&client, victims).await);
    blocked.extend(slow);
    blocked.sort();
    Ok(Rehearsed {
        moving,
        blocked,
        returning,
        ..Rehearsed::default()
    })
}

/// The pods that a drain would move now.
fn victims(found: Vec<Found>) -> Vec<Victim> {
    found.into_iter().map(|pod| pod.victim).collect()
}

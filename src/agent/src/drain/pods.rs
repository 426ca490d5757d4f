//! Selects the pods to drain: pure functions over a list of pods.

use std::time::Duration;

use client::{Pod, PodSpec, belongs_to_node, controller, may_return, tolerates_cordon};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::ResourceExt;

/// One pod that must go. The UID distinguishes it from a successor with the same name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Victim {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its priority.
    pub priority: i32,
    /// How many seconds it may take to end.
    pub grace: u64,
}

/// The grace period that the API server writes where a pod has none
/// (k8s.io/api/core/v1, `DefaultTerminationGracePeriodSeconds`).
pub(super) const GRACE: u64 = 30;

/// How long after its grace period a pod that was deleted may still be there: its kubelet ends the
/// containers and reports that.
pub(super) const ENDED: Duration = Duration::from_secs(15);

impl std::fmt::Display for Victim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// A pod that does not belong to the node, and what shows whether it comes back.
#[derive(Clone, Debug)]
pub struct Found {
    /// The pod.
    pub victim: Victim,
    /// What its successors have in common with it: the UID of its controller or of another owner,
    /// or else its own name. Something may create a pod without an owner again and again.
    pub line: String,
    /// The scheduler places it on a cordoned node.
    pub tolerates_cordon: bool,
    /// When it was created, by the server's clock.
    pub created: Option<Timestamp>,
    /// When its deletion began, by the server's clock.
    pub ending: Option<Timestamp>,
    /// When it must have ended, by the server's clock, if its deletion has begun.
    pub ends: Option<Timestamp>,
    /// What keeps its object once it has ended.
    pub finalizers: Vec<String>,
}

/// The pods of a list that do not belong to the node.
#[must_use]
pub fn found(pods: &[Pod]) -> Vec<Found> {
    pods.iter().filter(|pod| must_go(pod)).map(one).collect()
}

/// The UIDs of the pods of a list that run and stay. The drain has evicted what must go, so all
/// others belong to the node or come back to it. A finished pod should run nothing.
#[must_use]
pub fn stay(pods: &[Pod]) -> Vec<String> {
    let stays = |pod: &&Pod| !is_finished(pod) || belongs_to_node(&pod.metadata, pod.spec.as_ref());
    pods.iter().filter(stays).filter_map(Pod::uid).collect()
}

/// What a plan tells of a pod. It may move and return.
#[derive(Clone, Debug)]
pub struct Told {
    /// The drain moves it.
    pub moves: Option<Found>,
    /// The node keeps it, or gets it again: its name.
    pub returns: Option<String>,
}

/// What a plan tells of each pod of a list.
#[must_use]
pub fn told(pods: &[Pod]) -> Vec<Told> {
    let told = |pod: &Pod| Told {
        moves: must_go(pod).then(|| one(pod)),
        returns: returns(pod).then(|| victim(pod).to_string()),
    };
    pods.iter().map(told).collect()
}

fn returns(pod: &Pod) -> bool {
    !is_finished(pod) && may_return(&pod.metadata, pod.spec.as_ref())
}

fn one(pod: &Pod) -> Found {
    let meta = &pod.metadata;
    let created = meta.creation_timestamp.as_ref().map(|time| time.0);
    Found {
        victim: victim(pod),
        line: line(pod),
        tolerates_cordon: pod.spec.as_ref().is_some_and(tolerates_cordon),
        created,
        ending: ending(pod),
        ends: meta.deletion_timestamp.as_ref().map(|time| time.0),
        finalizers: meta.finalizers.clone().unwrap_or_default(),
    }
}

fn line(pod: &Pod) -> String {
    let any = || pod.owner_references().first();
    let owner = controller(&pod.metadata).or_else(any);
    owner.map_or_else(|| victim(pod).to_string(), |owner| owner.uid.clone())
}

/// The server adds the grace period to the time of the request.
fn ending(pod: &Pod) -> Option<Timestamp> {
    let end = pod.metadata.deletion_timestamp.as_ref()?.0;
    let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or(0);
    end.checked_sub(SignedDuration::from_secs(grace)).ok()
}

fn victim(pod: &Pod) -> Victim {
    Victim {
        namespace: pod.namespace().unwrap_or_default(),
        name: pod.name_any(),
        uid: pod.uid().unwrap_or_default(),
        priority: pod.spec.as_ref().map_or(0, |spec| spec.priority),
        grace: pod.spec.as_ref().and_then(grace).unwrap_or(GRACE),
    }
}

fn grace(spec: &PodSpec) -> Option<u64> {
    let seconds = spec.termination_grace_period_seconds?;
    u64::try_from(seconds).ok()
}

fn must_go(pod: &Pod) -> bool {
    !is_finished(pod) && !belongs_to_node(&pod.metadata, pod.spec.as_ref())
}

/// A finished pod keeps nothing running.
fn is_finished(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let phase = status.map_or("", |status| status.phase.as_str());
    matches!(phase, "Succeeded" | "Failed")
}

#[cfg(test)]
mod tests {
    use super::*;
    use client::MIRROR;
    use serde_json::{Value, json};

    fn pod(change: &Value) -> Pod {
        let mut pod = json!({
            "metadata": { "namespace": "shop", "name": "web", "uid": "1" },
            "status": { "phase": "Running" },
        });
        merge(&mut pod, change);
        serde_json::from_value(pod).unwrap()
    }

    fn merge(into: &mut Value, from: &Value) {
        match (into, from) {
            (Value::Object(into), Value::Object(from)) => {
                for (key, value) in from {
                    merge(into.entry(key.clone()).or_insert(Value::Null), value);
                }
            }
            (into, from) => *into = from.clone(),
        }
    }

    fn owned_by(kind: &str, controller: bool) -> Value {
        json!({ "metadata": { "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": kind, "name": "x", "uid": "2", "controller": controller,
        }] } })
    }

    fn victims(pods: &[Pod]) -> Vec<Victim> {
        found(pods).into_iter().map(|pod| pod.victim).collect()
    }

    #[test]
    fn a_running_pod_must_go_whoever_owns_it() {
        assert_eq!(victims(&[pod(&json!({}))]).len(), 1, "a bare pod");
        assert_eq!(victims(&[pod(&owned_by("ReplicaSet", true))]).len(), 1);
        assert_eq!(
            victims(&[pod(&json!({ "status": { "phase": "Pending" } }))]).len(),
            1
        );
    }

    #[test]
    fn daemon_static_and_finished_pods_stay() {
        let mirror = json!({ "metadata": { "annotations": { MIRROR: "hash" } } });
        let done = |phase: &str| json!({ "status": { "phase": phase } });
        for change in [
            owned_by("DaemonSet", true),
            mirror,
            done("Succeeded"),
            done("Failed"),
        ] {
            assert_eq!(victims(&[pod(&change)]), [], "{change}");
        }
    }

    #[test]
    fn pods_that_stay_are_all_but_finished_ones_of_others() {
        let named = |uid: &str, mut change: Value| {
            merge(&mut change, &json!({ "metadata": { "uid": uid } }));
            pod(&change)
        };
        let mut daemon = owned_by("DaemonSet", true);
        daemon["status"] = json!({ "phase": "Failed" });
        let done = json!({ "status": { "phase": "Failed" } });
        let all = [
            named("returned", json!({})),
            named("daemon", daemon),
            named("done", done),
        ];
        assert_eq!(stay(&all), ["returned", "daemon"]);
    }

    #[test]
    fn a_daemonset_that_merely_owns_a_pod_does_not_keep_it() {
        assert_eq!(victims(&[pod(&owned_by("DaemonSet", false))]).len(), 1);
    }

    #[test]
    fn plan_tells_which_pods_move_and_which_come_back() {
        let tolerant = |kind: &str| {
            let mut change = owned_by(kind, true);
            change["metadata"]["name"] = json!(kind.to_lowercase());
            change["spec"] = json!({ "tolerations": [{ "operator": "Exists" }] });
            change
        };
        let mut done = tolerant("Job");
        done["status"] = json!({ "phase": "Succeeded" });
        let all = [
            json!({}),
            tolerant("ReplicaSet"),
            tolerant("DaemonSet"),
            done,
        ];
        let all: Vec<_> = all.iter().map(pod).collect();
        let told = told(&all);
        let moving: Vec<_> = told.iter().filter_map(|pod| pod.moves.as_ref()).collect();
        let moving: Vec<_> = moving.iter().map(|pod| pod.victim.to_string()).collect();
        assert_eq!(moving, ["shop/web", "shop/replicaset"]);
        let returning: Vec<_> = told.iter().filter_map(|pod| pod.returns.clone()).collect();
        assert_eq!(returning, ["shop/replicaset"]);
    }

    #[test]
    fn deletion_begins_the_grace_period_before_its_timestamp() {
        let meta = json!({
            "deletionTimestamp": "2026-11-28T20:01:00Z", "deletionGracePeriodSeconds": 30,
        });
        let pod = pod(&json!({ "metadata": meta }));
        let ending = found(&[pod])[0].ending.unwrap();
        assert_eq!(ending.to_string(), "2026-11-28T20:00:30Z");
    }
}

//! The pods that belong to the node: those of daemon controllers, and static ones.

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::core::Object;
use serde::Deserialize;
use upgrade::reason::complaint;
use upgrade::serving::{ImageId, NodePod, Owner, Unready};

use client::{Condition, MIRROR, PodSpec, belongs_to_node, controller};

use super::elsewhere::is_elsewhere;

/// The hash of a static pod's file.
const FILE_HASH: &str = "kubernetes.io/config.hash";

/// The revision of a DaemonSet's template.
const REVISION: &str = "controller-revision-hash";

/// Why a container waits, if a registry does not deliver its image, or the cluster lacks what it
/// needs (kubernetes, pkg/kubelet/images/types.go and pkg/kubelet/kuberuntime).
const PULLS: [&str; 7] = [
    // A ConfigMap or a Secret is missing.
    "CreateContainerConfigError",
    "ErrImagePull",
    "ImagePullBackOff",
    "ErrImageNeverPull",
    "InvalidImageName",
    "RegistryUnavailable",
    "SignatureValidationFailed",
];

/// Why a container waits, if the runtime cannot start it (kubernetes, pkg/kubelet/kuberuntime,
/// kuberuntime_container.go, and containerd's own word).
const BREAKS: [&str; 3] = ["CreateContainerError", "RunContainerError", "StartError"];

/// A pod that became Ready so long after its start did not start for so long: it was not Ready for
/// a while in between. In seconds.
const LONGEST_START: i64 = 3600;

/// How long after its containers' start a pod may become Ready for the first time. One that does so
/// later was most likely Ready before, and its probe failed since: the status does not tell. It is
/// the `progressDeadlineSeconds` of a Deployment. In seconds.
const LONGEST_WARM_UP: i64 = 600;

/// How much of a container's id is kept.
const ID: usize = 12;

/// The most containers of a pod whose images are noted.
const IMAGES: usize = 16;

/// A pod, with what is compared.
pub(super) type Pod = Object<Option<PodSpec>, Status>;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Status {
    phase: String,
    start_time: String,
    reason: String,
    message: String,
    conditions: Vec<Condition>,
    init_container_statuses: Vec<Container>,
    container_statuses: Vec<Container>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Container {
    name: String,
    #[serde(rename = "containerID")]
    container_id: String,
    #[serde(rename = "imageID")]
    image_id: String,
    ready: bool,
    state: State,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct State {
    waiting: Option<Why>,
    terminated: Option<Why>,
    running: Option<Running>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Running {
    started_at: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Why {
    reason: String,
    message: String,
    exit_code: i32,
}

/// The pods of this list that belong to the node, which booted then.
pub(super) fn pods(list: &[Pod], boot: Option<Timestamp>) -> Vec<NodePod> {
    list.iter().filter_map(|one| pod(one, boot)).collect()
}

/// When this node booted, by its clock.
pub(super) fn booted() -> Option<Timestamp> {
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds: u32 = uptime.split('.').next()?.parse().ok()?;
    let boot = Timestamp::now().as_second() - i64::from(seconds);
    Timestamp::from_second(boot).ok()
}

/// A pod that ran before the boot starts with it.
fn ready_seconds(status: &Status, boot: Option<Timestamp>) -> Option<u64> {
    let ready = status.conditions.iter().find(|one| one.kind == "Ready")?;
    let since = ready.last_transition_time.as_ref()?;
    let ready: Timestamp = since.parse().ok().filter(|_| ready.status == "True")?;
    let start = boot?.max(status.start_time.parse().ok()?);
    let took = ready.as_second() - start.as_second();
    let warmed_up = last_start(status).map(|began| ready.as_second() - began.as_second());
    let known = (0..=LONGEST_START).contains(&took)
        && warmed_up.is_none_or(|seconds| seconds <= LONGEST_WARM_UP);
    u64::try_from(took).ok().filter(|_| known)
}

/// When the last of the pod's containers started.
fn last_start(status: &Status) -> Option<Timestamp> {
    let running = containers(status).filter_map(|one| one.state.running.as_ref());
    let started = running.filter_map(|running| running.started_at.as_ref()?.parse().ok());
    started.max()
}

fn pod(pod: &Pod, boot: Option<Timestamp>) -> Option<NodePod> {
    let owner = owner(pod).filter(|_| pod.metadata.deletion_timestamp.is_none())?;
    let status = pod.status.clone().unwrap_or_default();
    let of_the_file = pod.annotations().get(FILE_HASH);
    let revision = pod.labels().get(REVISION).or(of_the_file);
    Some(NodePod {
        owner,
        uid: pod.uid().unwrap_or_default(),
        revision: revision.cloned().unwrap_or_default(),
        containers: running(&status),
        images: images(&status),
        unready: unready(&status),
        ready_seconds: ready_seconds(&status, boot),
    })
}

fn owner(pod: &Pod) -> Option<Owner> {
    if !belongs_to_node(&pod.metadata, pod.spec.as_ref()) {
        return None;
    }
    let namespace = pod.namespace().unwrap_or_default();
    let is_static = pod.annotations().contains_key(MIRROR);
    let (kind, name) = match controller(&pod.metadata) {
        Some(owner) if !is_static => (owner.kind.clone(), owner.name.clone()),
        Some(_) | None => (String::new(), pod.name_any()),
    };
    Some(Owner {
        kind,
        namespace,
        name,
    })
}

/// The ids of the running containers, shortened: `containerd://<64 digits>`.
fn running(status: &Status) -> String {
    let running = status
        .container_statuses
        .iter()
        .filter(|container| container.state.running.is_some());
    let ids = running.map(|container| {
        let id = container
            .container_id
            .rsplit('/')
            .next()
            .unwrap_or_default();
        id.chars().take(ID).collect::<String>()
    });
    ids.collect::<Vec<_>>().join(",")
}

fn images(status: &Status) -> BTreeMap<String, ImageId> {
    let all = containers(status);
    let known = all.filter_map(|one| Some((one.name.clone(), ImageId::of(&one.image_id)?)));
    known.take(IMAGES).collect()
}

fn containers(status: &Status) -> impl Iterator<Item = &Container> {
    let first = status.init_container_statuses.iter();
    first.chain(&status.container_statuses)
}

fn unready(status: &Status) -> Option<Unready> {
    let ready = status.conditions.iter().find(|one| one.kind == "Ready");
    if ready.is_some_and(|ready| ready.status == "True") {
        return None;
    }
    let waits = containers(status).find_map(waits);
    let word = waits.as_ref().map_or("", |(_, why)| why.reason.as_str());
    let elsewhere = waits
        .as_ref()
        .is_some_and(|(_, why)| is_elsewhere(Path::new("/"), &why.message));
    let (pulls, broken) = (PULLS.contains(&word), BREAKS.contains(&word) && !elsewhere);
    let why = match (waits, ready) {
        (Some((name, why)), _) => format!("container {name}: {}", told(&why)),
        (None, _) if !status.reason.is_empty() => {
            format!("{}: {} {}", status.phase, status.reason, status.message)
        }
        (None, Some(ready)) => format!("{} {}", ready.reason, ready.message),
        (None, None) => format!("it is {}", status.phase),
    };
    let why = complaint(&why);
    Some(Unready { why, pulls, broken })
}

/// Why a container does not run. An init container that has ended well is done.
fn waits(container: &Container) -> Option<(String, Why)> {
    let State {
        waiting,
        terminated,
        running: _,
    } = &container.state;
    let ended = terminated
        .as_ref()
        .filter(|ended| !container.ready && ended.exit_code != 0);
    let why = waiting.as_ref().or(ended)?;
    Some((container.name.clone(), why.clone()))
}

fn told(why: &Why) -> String {
    let exit = if why.exit_code == 0 {
        String::new()
    } else {
        format!(" (exit status {})", why.exit_code)
    };
    let said = format!("{}{exit} {}", why.reason, why.message);
    said.trim_end().to_owned()
}

#[cfg(test)]
mod tests;

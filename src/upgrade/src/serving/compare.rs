//! What a node lacks against what it was before the drain.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use super::lack::{Lack, named};
use super::offer::{NodePod, Offer};
use super::quantity::value;
use crate::cause::Cause;
use crate::names::LIFECYCLE;
use crate::policy::{Demand, Serving};

/// Conditions that keep pods off a node while they are True
/// (kubernetes.io/docs/reference/node/node-status/#condition).
pub(super) const KEEPS_PODS_OFF: [&str; 4] = [
    "DiskPressure",
    "MemoryPressure",
    "NetworkUnavailable",
    "PIDPressure",
];

/// A new kernel reserves a little more or less, so memory and disk may shrink by this share.
const SHRINKS: f64 = 0.95;

/// What is missing, and how the policy rates it. The policy's exceptions are left out.
#[must_use]
pub fn lacks(before: &Offer, now: &Offer, policy: &Serving) -> Vec<(Demand, Lack)> {
    let all = [
        (policy.pods, pods(before, now)),
        (policy.pods, services(before, now)),
        (policy.resources, resources(before, now)),
        (policy.resources, handlers(before, now)),
        (policy.resources, features(before, now)),
        (policy.resources, devices(before, now)),
        (policy.drivers, drivers(before, now)),
        (
            policy.labels,
            labels(before, now, policy).into_iter().collect(),
        ),
        (policy.capacity, capacity(before, now)),
        (policy.conditions, pressures(before, now)),
        (policy.conditions, taints(before, now)),
        (policy.other_conditions, conditions(before, now)),
        (policy.addresses, families(before, now)),
        (policy.addresses.at_most_warn(), addresses(before, now)),
    ];
    let all = all
        .into_iter()
        .flat_map(|(rated, lacks)| lacks.into_iter().map(move |lack| (rated, lack)));
    all.filter(|(rated, lack)| *rated != Demand::Off && !policy.excepts(&lack.key))
        .collect()
}

/// A pod that was not Ready before the drain shows nothing of the new system.
fn pods(before: &Offer, now: &Offer) -> Vec<Lack> {
    before
        .pods
        .iter()
        .filter(|was| was.unready.is_none())
        .filter_map(|was| pod(was, &now.pods))
        .collect()
}

/// A controller may have replaced the pod, so the owner identifies it.
fn pod(was: &NodePod, now: &[NodePod]) -> Option<Lack> {
    let same: Vec<_> = now.iter().filter(|pod| pod.owner == was.owner).collect();
    if same.iter().any(|pod| serves(was, pod)) {
        return None;
    }
    let owner = &was.owner;
    let key = format!("pod:{}/{}", owner.namespace, owner.name);
    let Some(pod) = same.first() else {
        return Some(gone(was, key));
    };
    let why = pod.unready.as_ref().map_or(
        "the kubelet has not reported it since the boot",
        |unready| unready.why.as_str(),
    );
    let what = format!("{owner} was Ready before the drain and is not: {why}");
    Some(Lack::new(key, what, cause(was, pod)))
}

/// A container that starts and then fails, or is not Ready, may wait for anything: another machine,
/// or what the cluster holds. Only one that the runtime cannot start shows the image, unless its own
/// image is another one now.
fn cause(was: &NodePod, pod: &NodePod) -> Cause {
    let unready = pod.unready.as_ref();
    let (pulls, broken) = unready.map_or((false, false), |why| (why.pulls, why.broken));
    if pulls || !is_same_template(was, pod) || has_other_images(was, pod) {
        Cause::Neighbour
    } else if broken {
        Cause::Image
    } else {
        Cause::Unclear
    }
}

/// Whether it is Ready, with other containers than at the note.
pub(super) fn serves(was: &NodePod, pod: &NodePod) -> bool {
    let stale = pod.uid == was.uid && !was.containers.is_empty();
    pod.unready.is_none() && !(stale && pod.containers == was.containers)
}

/// Whether it is the pod that ran on the old system, or one like it.
pub(super) fn is_same_template(was: &NodePod, pod: &NodePod) -> bool {
    pod.uid == was.uid || (!was.revision.is_empty() && pod.revision == was.revision)
}

/// Whether a tag led to another image since: the kubelet pulls it again at each start if the pod says
/// so (`imagePullPolicy: Always`).
fn has_other_images(was: &NodePod, pod: &NodePod) -> bool {
    let before = |name| was.images.get(name);
    let mut now = pod.images.iter();
    now.any(|(name, is)| before(name).is_some_and(|was| was.differs(is)))
}

fn gone(was: &NodePod, key: String) -> Lack {
    let owner = &was.owner;
    if owner.is_static() {
        let what =
            format!("{owner} was Ready before the drain, and the kubelet reports no such pod");
        return Lack::new(key, what, Cause::Unclear);
    }
    Lack {
        key: key.replacen("pod:", "gone:", 1),
        what: format!("{owner} was Ready before the drain, and no such pod is on the node now"),
        cause: Cause::Neighbour,
        may_come: true,
    }
}

/// kube-proxy's pod is Ready also where the kernel lacks what its rules need.
fn services(before: &Offer, now: &Offer) -> Vec<Lack> {
    before
        .services
        .difference(&now.services)
        .map(|family| {
            let what = format!(
                "kube-proxy had written the {family} rules of services before the drain and has not since the boot"
            );
            Lack::new("proxy:kube-proxy".to_owned(), what, Cause::Unclear)
        })
        .collect()
}

/// Resources that a device plugin or the kernel's command line brings. Pods that ask for them do
/// not run without them.
fn is_special(name: &str) -> bool {
    name.contains('/') || name.starts_with("hugepages-")
}

fn resources(before: &Offer, now: &Offer) -> Vec<Lack> {
    let special = before.resources.iter().filter(|(name, _)| is_special(name));
    special
        .filter_map(|(name, was)| less(name, was, now, 1.0))
        .collect()
}

fn capacity(before: &Offer, now: &Offer) -> Vec<Lack> {
    let plain = before
        .resources
        .iter()
        .filter(|(name, _)| !is_special(name));
    let shrinks = |name: &str| match name {
        "memory" | "ephemeral-storage" => SHRINKS,
        _ => 1.0,
    };
    plain
        .filter_map(|(name, was)| less(name, was, now, shrinks(name)))
        .collect()
}

/// Less than this share of a resource. A quantity that cannot be read is compared with nothing.
fn less(name: &str, was: &str, other: &Offer, share: f64) -> Option<Lack> {
    let is = other.resources.get(name).map_or("0", String::as_str);
    let (now, before) = (value(is)?, value(was)?);
    (now < before * share).then(|| {
        let key = format!("resource:{name}");
        let what = format!("resource {name} was {was} before the drain and is {is}");
        let cause = if is_unknown_to_the_kernel(name, &other.resources) {
            Cause::Image
        } else {
            Cause::Unclear
        };
        Lack::new(key, what, cause)
    })
}

/// The kubelet removes a size of huge pages only if the kernel does not know it (kubernetes,
/// pkg/kubelet/kubelet_node_status.go, `reconcileHugePageResource`). With 0 pages of a size that
/// the kernel knows, somebody reserved them at run time, and the kubelet counts them when it starts.
/// The kubelet reports a resource of a device plugin as 0 after a boot until the plugin registers
/// again, and a plugin without its driver registers with 0 devices (pkg/kubelet/cm/devicemanager,
/// `GetCapacity`). So 0 does not show whose fault it is.
fn is_unknown_to_the_kernel(name: &str, resources: &BTreeMap<String, String>) -> bool {
    name.starts_with("hugepages-") && !resources.contains_key(name)
}

fn pressures(before: &Offer, now: &Offer) -> Vec<Lack> {
    let began = |kind: &&&str| status(before, kind) != "True" && status(now, kind) == "True";
    let began = KEEPS_PODS_OFF.iter().filter(began);
    began
        .map(|kind| {
            let key = format!("condition:{kind}");
            let what = format!("condition {kind} was not True before the drain and is True now");
            // A full disk or a network plugin that is late may be the node's or its neighbours'.
            Lack::new(key, what, Cause::Unclear)
        })
        .collect()
}

/// A network plugin or a CSI driver takes its taint away when it is ready, and until then the
/// scheduler places no pod here.
fn taints(before: &Offer, now: &Offer) -> Vec<Lack> {
    let (Some(before), Some(now)) = (&before.taints, &now.taints) else {
        return Vec::new();
    };
    now.difference(before)
        .map(|key| {
            let what = format!("the Node had no taint {key} before the drain and has it now");
            Lack::new(format!("taint:{key}"), what, Cause::Unclear)
        })
        .collect()
}

/// The kubelet takes a driver from the list when the driver's pod leaves, and adds it when the pod
/// registers again. Without it no volume of that driver is mounted, and the scheduler places no pod
/// with one here. A pod brings it, which may wait for anything.
fn drivers(before: &Offer, now: &Offer) -> Vec<Lack> {
    let (Some(before), Some(now)) = (&before.drivers, &now.drivers) else {
        return Vec::new();
    };
    before
        .difference(now)
        .map(|name| {
            let what = format!(
                "CSI driver {name} was registered on this node before the drain and is not: its volumes cannot be mounted"
            );
            Lack::new(format!("driver:{name}"), what, Cause::Unclear)
        })
        .collect()
}

/// A pod whose RuntimeClass names a handler that the runtime does not have stays
/// `ContainerCreating`, on a Node that is Ready. The handlers are those of the runtime's
/// configuration, which may be the image's, the node's or a pod's.
fn handlers(before: &Offer, now: &Offer) -> Vec<Lack> {
    let (Some(before), Some(now)) = (&before.handlers, &now.handlers) else {
        return Vec::new();
    };
    before
        .difference(now)
        .map(|name| {
            let what = format!(
                "the container runtime had handler {name} before the drain and does not have it: pods whose RuntimeClass names it cannot start"
            );
            Lack::new(format!("handler:{name}"), what, Cause::Unclear)
        })
        .collect()
}

/// A handler that stays may lose what a pod asks of it, for instance user namespaces, where the new
/// kernel or the new runtime cannot give them. Such a pod stays `ContainerCreating` or is rejected.
/// The features of a handler that is gone are told with it.
fn features(before: &Offer, now: &Offer) -> Vec<Lack> {
    let (Some(before), Some(now_has)) = (&before.features, &now.features) else {
        return Vec::new();
    };
    let handlers = now.handlers.as_ref();
    let is_of_one_that_is_gone = |name: &str| {
        let handler = name.rsplit_once('/').map(|(handler, _)| handler);
        handler.is_some_and(|handler| !handlers.is_some_and(|all| all.contains(handler)))
    };
    let lost = before.difference(now_has);
    lost.filter(|name| !is_of_one_that_is_gone(name))
        .map(|name| {
            let what = format!(
                "the container runtime had feature {name} before the drain and does not have it: pods that ask for it cannot start"
            );
            Lack::new(format!("feature:{name}"), what, Cause::Unclear)
        })
        .collect()
}

/// A driver of dynamic resource allocation that offers nothing any more: the device is gone, or the
/// driver's pod does not find it. How many devices a driver offers may change with every pod.
fn devices(before: &Offer, now: &Offer) -> Vec<Lack> {
    let (Some(before), Some(now)) = (&before.devices, &now.devices) else {
        return Vec::new();
    };
    before
        .difference(now)
        .map(|name| {
            let what = format!(
                "driver {name} offered devices of this node before the drain and offers none: pods that claim one cannot run here"
            );
            Lack::new(format!("device:{name}"), what, Cause::Unclear)
        })
        .collect()
}

/// Programs describe a node by hundreds of labels (its processor, its kernel, its devices), which
/// go together, so one sentence tells all that are gone. An image may leave one out on purpose, and
/// a value changes with each kernel, so only the keys are compared.
fn labels(before: &Offer, now: &Offer, policy: &Serving) -> Option<Lack> {
    let (before, now) = (before.labels.as_ref()?, now.labels.as_ref()?);
    let gone = before.difference(now);
    let gone = gone.filter(|label| !policy.excepts(&format!("label:{label}")));
    let gone: Vec<_> = gone.map(String::as_str).collect();
    let (first, named) = (gone.first()?, named(&gone));
    let what = format!(
        "the Node had {named} among its labels before the drain and does not have them: pods that select them are not placed here"
    );
    Some(Lack::new(format!("label:{first}"), what, Cause::Unclear))
}

fn status<'a>(offer: &'a Offer, kind: &str) -> &'a str {
    offer.conditions.get(kind).map_or("", String::as_str)
}

/// What another program reports. Careen does not know which status is good, only that it changed.
fn conditions(before: &Offer, now: &Offer) -> Vec<Lack> {
    let others = before.conditions.iter();
    let others = others.filter(|(kind, _)| {
        !KEEPS_PODS_OFF.contains(&kind.as_str()) && !LIFECYCLE.contains(&kind.as_str())
    });
    let changed = others.filter(|(kind, was)| status(now, kind) != **was);
    changed
        .map(|(kind, was)| {
            let is = match status(now, kind) {
                "" => "gone",
                is => is,
            };
            let key = format!("condition:{kind}");
            let what = format!("condition {kind} was {was} before the drain and is {is}");
            Lack::new(key, what, Cause::Unclear)
        })
        .collect()
}

/// Internal addresses by which pods and the API server reach the node.
fn internal(offer: &Offer) -> impl Iterator<Item = &str> {
    let internal = offer
        .addresses
        .iter()
        .filter(|(kind, _)| kind == "InternalIP");
    internal.map(|(_, address)| address.as_str())
}

fn family(address: &str) -> Option<&'static str> {
    match address.parse().ok()? {
        IpAddr::V4(_) => Some("IPv4"),
        IpAddr::V6(_) => Some("IPv6"),
    }
}

/// A node of two families that comes back with one cannot reach half of its peers.
fn families(before: &Offer, now: &Offer) -> Vec<Lack> {
    let of = |offer| internal(offer).filter_map(family).collect::<BTreeSet<_>>();
    let (was, is) = (of(before), of(now));
    was.difference(&is)
        .map(|family| {
            let key = format!("address:{family}");
            let what =
                format!("the Node had an internal {family} address before the drain and has none");
            // The network gives an address, and a router may be late.
            Lack::new(key, what, Cause::Unclear)
        })
        .collect()
}

fn addresses(before: &Offer, now: &Offer) -> Vec<Lack> {
    let gone = before
        .addresses
        .iter()
        .filter(|was| !now.addresses.contains(was));
    gone.map(|(kind, address)| {
        let key = format!("address:{address}");
        let what =
            format!("the Node had {kind} {address} before the drain and does not have it now");
        Lack::new(key, what, Cause::Unclear)
    })
    .collect()
}

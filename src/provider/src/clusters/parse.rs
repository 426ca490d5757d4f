//! Turns Nodes and static pods into facts. A Node's own kubelet and agent write it, and an API
//! server that may lie serves all of it. So each string has a length limit, and its text is
//! sanitized while it is read ([`super::seen`]).

use requests::{EndedRequest, Limits, NodeFacts, Reply, StaticPod};
use upgrade::keys::Keys;
use upgrade::names;
use upgrade::record::Reached;
use upgrade::report::Status;
use upgrade::target::request;

use super::left_alone;
use super::wire::{self, COMPONENT, CONTROL_PLANE, Known};
use crate::kinds::UNMANAGED;

/// The longest status that is read. The agent's own is under 2 KiB; an annotation can have 256 KiB.
const STATUS: usize = 16 * 1024;

/// The longest string that is read, in bytes. A string longer than a status may be is not a status.
pub(super) const STRING: usize = STATUS + 4;

/// How many of the last reached phases are kept. An upgrade has about ten.
const REACHED: usize = 16;

/// The longest part of a text for people that is kept, in bytes. It also limits a provider id,
/// which some clouds make 300 bytes long.
const TEXT: usize = 512;

/// The longest name, in bytes. Kubernetes accepts none that is longer.
const NAME: usize = 253;

/// The longest version, uid, id or architecture, in bytes. A UID has 36, a version 20.
const WORD: usize = 128;

/// A Node as facts.
pub(super) fn node(object: wire::Node) -> NodeFacts {
    let (meta, spec, status) = (object.metadata, object.spec, object.status);
    let get = |key: &str, longest| meta.annotations.get(key).map(|text| short(text, longest));
    let limits = Limits {
        json: STATUS,
        string: TEXT,
    };
    let mut reply = Reply::read(|key| meta.annotations.get(key), limits);
    let reached = reply.status.as_mut().map(without_lists).unwrap_or_default();
    let provider_id = spec.provider_id.filter(|id| !id.is_empty());
    let longest = |key| if key == names::IMAGE { TEXT } else { WORD };
    let asked = request::values(|key| get(key, longest(key)));
    // The agent also pauses for a key that looks like a pause, and for a sign that the Node is
    // about to go. It reads the Node with the same functions.
    let (annotations, labels) = (meta.annotations.pairs(), meta.labels.pairs());
    let keys = Keys::of(annotations, labels, spec.taints.pairs())
        .with_conditions(status.conditions.said())
        .with_deletion(meta.deletion_timestamp.as_deref());
    let left_alone = left_alone::by(annotations, labels, spec.taints.pairs());
    NodeFacts {
        name: name(&meta.name),
        uid: short(&meta.uid, WORD),
        resource_version: version(&meta.resource_version),
        provider_id: provider_id.map(|id| short(&id, TEXT)),
        architecture: short(&status.node_info.architecture, WORD),
        ready: status.conditions.is_true("Ready"),
        cordoned: spec.unschedulable,
        kubelet: short(&status.node_info.kubelet_version, WORD),
        control_plane: meta.labels.get(CONTROL_PLANE).is_some(),
        requested: asked.is_scheduled(),
        image: asked.image,
        version: asked.kubernetes,
        id: asked.id,
        paused: keys.pause.map(|pause| short(&pause.why(), TEXT)),
        left_alone: left_alone.map(|why| short(&why, TEXT)),
        ended: ended(&meta.annotations, &reply, &reached),
        reply,
        reached: last(&reached),
        failure: get(names::FAILURE_REASON, TEXT),
    }
}

/// Whether a Node is marked as one that no machine has.
pub(super) fn is_unmanaged(object: &wire::Node) -> bool {
    object.metadata.annotations.get(UNMANAGED).is_some()
}

/// Takes the lists out of the details, and returns the phases. The lists have any number of items,
/// and an empty string takes eight times the memory of its text.
fn without_lists(status: &mut Status) -> Vec<Reached> {
    status.unknown_keys = Vec::new();
    status.differs = Vec::new();
    std::mem::take(&mut status.reached)
}

/// A name, limited to the length that Kubernetes accepts.
pub(super) fn name(text: &str) -> String {
    short(text, NAME)
}

/// A resource version.
pub(super) fn version(text: &str) -> String {
    short(text, WORD)
}

/// The text, cut to this many bytes.
fn short(text: &str, longest: usize) -> String {
    text[..text.floor_char_boundary(longest)].to_owned()
}

/// The costs of the answered request, once the agent gave its final answer.
fn ended(annotations: &Known, reply: &Reply, reached: &[Reached]) -> Option<Box<EndedRequest>> {
    let status = reply.status.as_ref().filter(|_| reply.is_last_word())?;
    let history = annotations.get(names::HISTORY)?;
    EndedRequest::of(status, reached, history).map(Box::new)
}

/// When the last phases were reached.
fn last(reached: &[Reached]) -> Vec<u64> {
    let surplus = reached.len().saturating_sub(REACHED);
    let last = reached.iter().skip(surplus);
    last.map(|reached| reached.at).collect()
}

/// Name, Node and facts of a static pod's mirror. kubeadm labels it with its component and names it
/// `<component>-<node>`.
pub(super) fn pod(object: wire::Pod) -> Option<(String, String, StaticPod)> {
    let (meta, spec) = (object.metadata, object.spec);
    let component = meta.labels.get(COMPONENT)?;
    let node = match spec.node_name.as_str() {
        "" => meta.name.strip_prefix(&format!("{component}-"))?,
        node => node,
    };
    let image = spec.containers.first();
    let pod = StaticPod {
        version: image.and_then(|container| tag(&container.image)),
        component: short(component, WORD),
        ready: object.status.conditions.is_true("Ready"),
    };
    Some((name(&meta.name), name(node), pod))
}

/// The tag of `host:port/name:tag@digest`.
fn tag(image: &str) -> Option<String> {
    let name = image.split('@').next()?.rsplit('/').next()?;
    name.split_once(':').map(|(_, tag)| short(tag, WORD))
}

#[cfg(test)]
mod tests;

//! The fields that are read of a workload cluster's objects, in wire format. A field that is not
//! listed here takes no memory.

use std::collections::BTreeMap;
use std::fmt;

use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use upgrade::keys::Keys;
use upgrade::names;
use upgrade::target::request;

use crate::kinds::UNMANAGED;

/// Present on a Node of the control plane. The admission plug-in NodeRestriction lets no kubelet
/// set it.
pub(super) const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Present on kubeadm's static pods; names the component.
pub(super) const COMPONENT: &str = "component";

/// The annotations and labels that are read, in addition to those of a request.
const KNOWN: [&str; 9] = [
    names::PAUSED,
    names::OPT_OUT,
    names::ANSWER,
    names::STATUS,
    names::HISTORY,
    names::FAILURE_REASON,
    CONTROL_PLANE,
    COMPONENT,
    UNMANAGED,
];

/// A Node.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Node {
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) spec: NodeSpec,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) status: NodeStatus,
}

/// A pod.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Pod {
    pub(super) metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) spec: PodSpec,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) status: PodStatus,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Meta {
    pub(super) name: String,
    pub(super) uid: String,
    pub(super) resource_version: String,
    pub(super) deletion_timestamp: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) annotations: Known,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) labels: Known,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeSpec {
    pub(super) unschedulable: bool,
    #[serde(rename = "providerID")]
    pub(super) provider_id: Option<String>,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) taints: Taints,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct NodeStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) conditions: Conditions,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) node_info: NodeInfo,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct NodeInfo {
    pub(super) kubelet_version: String,
    pub(super) architecture: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    pub(super) node_name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub(super) containers: Vec<Container>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Container {
    pub(super) image: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct PodStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub(super) conditions: Conditions,
}

/// The conditions of a Node or pod.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Conditions(Vec<Condition>);

#[derive(Debug, Deserialize)]
struct Condition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    #[serde(default)]
    reason: String,
}

impl Conditions {
    /// Whether this one is `True`.
    pub(super) fn is_true(&self, kind: &str) -> bool {
        let mut all = self.0.iter();
        all.any(|condition| condition.kind == kind && condition.status == "True")
    }

    /// Type, status and reason of each.
    pub(super) fn said(&self) -> impl Iterator<Item = [&str; 3]> {
        let all = self.0.iter();
        all.map(|one| [&*one.kind, &*one.status, &*one.reason])
    }
}

/// Treats null as the default. Go writes an empty value as null unless told otherwise.
fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

/// How many keys that pause a Node are read of its annotations, of its labels and of its taints.
/// One is enough to pause it.
const PAUSES: usize = 32;

/// Annotations or labels: the known keys, and keys that pause a Node.
#[derive(Debug, Default)]
pub(super) struct Known(BTreeMap<String, String>);

impl Known {
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// All of them.
    pub(super) const fn pairs(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

/// A value. Only a string has a meaning.
#[derive(Deserialize)]
#[serde(untagged)]
enum Value {
    Text(String),
    Other(IgnoredAny),
}

fn is_known(key: &str) -> bool {
    request::KEYS.contains(&key) || KNOWN.contains(&key)
}

/// Whether the agent takes this annotation or label for a pause.
fn pauses(key: &str, value: &str) -> bool {
    let (one, none) = (one(key, value), BTreeMap::new());
    Keys::of(&one, &one, &none).pause.is_some()
}

fn one(key: &str, value: &str) -> BTreeMap<String, String> {
    BTreeMap::from([(key.to_owned(), value.to_owned())])
}

/// The taints that pause a Node, with their values.
#[derive(Debug, Default)]
pub(super) struct Taints(BTreeMap<String, String>);

#[derive(Default, Deserialize)]
#[serde(default)]
struct Taint {
    key: String,
    #[serde(deserialize_with = "null_is_default")]
    value: String,
}

impl Taints {
    /// All of them.
    pub(super) const fn pairs(&self) -> &BTreeMap<String, String> {
        &self.0
    }
}

impl Taint {
    /// Whether the agent takes it for a pause.
    fn pauses(&self) -> bool {
        let none = BTreeMap::new();
        let keys = Keys::of(&none, &none, &one(&self.key, &self.value));
        keys.pause.is_some()
    }
}

impl<'de> Deserialize<'de> for Taints {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(PickTaints)
    }
}

struct PickTaints;

impl<'de> Visitor<'de> for PickTaints {
    type Value = Taints;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of taints")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Taints, A::Error> {
        let mut taints = BTreeMap::new();
        while let Some(taint) = all.next_element::<Taint>()? {
            if taints.len() < PAUSES && taint.pauses() {
                taints.insert(taint.key, taint.value);
            }
        }
        Ok(Taints(taints))
    }
}

impl<'de> Deserialize<'de> for Known {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(Pick)
    }
}

struct Pick;

impl<'de> Visitor<'de> for Pick {
    type Value = Known;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of strings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Known, A::Error> {
        let (mut known, mut pausing) = (BTreeMap::new(), 0);
        while let Some(key) = entries.next_key::<String>()? {
            if is_known(&key) {
                known.insert(key, entries.next_value()?);
                continue;
            }
            match entries.next_value()? {
                Value::Text(value) if pausing < PAUSES && pauses(&key, &value) => {
                    pausing += 1;
                    known.insert(key, value);
                }
                Value::Text(_) | Value::Other(_) => {}
            }
        }
        Ok(Known(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise a key that the parser reads but the filter drops would look absent on every Node.
    #[test]
    fn every_key_that_the_parser_asks_for_is_picked() {
        let reply = [names::ANSWER, names::STATUS];
        let others = [names::HISTORY, names::FAILURE_REASON];
        let mut read = request::KEYS.into_iter().chain(reply).chain(others);
        assert!(read.all(is_known));
    }

    #[test]
    fn of_annotations_without_end_only_those_that_are_read_are_kept() {
        let noise = (0..10_000).map(|number| format!("\"key-{number}\": \"\","));
        let text = format!(
            "{{{} \"{}\": \"x\"}}",
            noise.collect::<String>(),
            names::PAUSED
        );
        let known: Known = serde_json::from_str(&text).unwrap();
        assert_eq!((known.0.len(), known.get(names::PAUSED)), (1, Some("x")));
    }

    #[test]
    fn of_taints_without_end_only_some_that_pause_are_kept() {
        let noise = (0..10_000).map(|number| format!("{{\"key\": \"key-{number}\"}},"));
        let pauses = (0..100).map(|number| format!("{{\"key\": \"careen.dev/pause-{number}\"}},"));
        let text = format!(
            "[{}{{\"value\": null}}]",
            noise.chain(pauses).collect::<String>()
        );
        let taints: Taints = serde_json::from_str(&text).unwrap();
        assert_eq!(taints.0.len(), PAUSES);
    }
}

//! Which settings of the kubelet's present configuration the next one would not have.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::defaults::may_be_kubeadms;

/// The most settings that a sentence names.
const NAMED: usize = 5;

/// One setting, and what it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its path in the configuration.
    path: Vec<String>,
    /// The value now; `None` if it is unset.
    now: Option<Value>,
    /// The value after the upgrade; `None` if it would be unset.
    then: Option<Value>,
}

impl Lost {
    /// Whether the node has no value now. It has taken the cluster's away, or the cluster has got
    /// one since.
    pub const fn is_removed(&self) -> bool {
        self.now.is_none()
    }

    /// Whether kubeadm may set it by itself, where this ConfigMap has no value.
    pub fn may_be_kubeadms(&self, map: &Value) -> bool {
        may_be_kubeadms(&self.path, self.now.as_ref(), map)
    }
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shown = |value: &Option<Value>| match value {
            Some(value) => value.to_string(),
            None => "unset".to_owned(),
        };
        let (now, then) = (shown(&self.now), shown(&self.then));
        write!(f, "{} is {now} and would be {then}", self.path.join("."))
    }
}

/// The settings of `now` that `then` does not have, and those that only `then` has. What a patch of
/// the node sets is wanted: there `then` differs from `base`.
pub fn between(now: &Value, base: &Value, then: &Value) -> Vec<Lost> {
    let mut found = Vec::new();
    let all = [Some(now), Some(base), Some(then)];
    walk(&mut Vec::new(), all, &mut found);
    found
}

fn walk(path: &mut Vec<String>, all: [Option<&Value>; 3], found: &mut Vec<Lost>) {
    let [now, base, then] = all.map(|value| value.filter(|value| !is_unset(path, value)));
    if !is_folder(now, then) {
        if now != then && base == then {
            let path = path.clone();
            let (now, then) = (now.cloned(), then.cloned());
            found.push(Lost { path, now, then });
        }
        return;
    }
    let fields = [now, then].into_iter().flatten();
    let names: BTreeSet<&String> = fields
        .filter_map(Value::as_object)
        .flat_map(Map::keys)
        .collect();
    for name in names {
        let below = [now, base, then].map(|value| value.and_then(|value| value.get(name)));
        path.push(name.clone());
        walk(path, below, found);
        path.pop();
    }
}

/// Whether fields are below: those of the node, or those that only the next configuration has.
const fn is_folder(now: Option<&Value>, then: Option<&Value>) -> bool {
    match (now, then) {
        (Some(Value::Object(_)), _) => true,
        (None, Some(Value::Object(_))) => true,
        (Some(_) | None, _) => false,
    }
}

/// Whether a value means the kubelet's default. kubeadm writes fields without `omitempty` also
/// where nobody has set them: durations as "0s", lists as null, and numbers below `logging`
/// (k8s.io/kubelet/config/v1beta1). Elsewhere 0 is a value.
fn is_unset(path: &[String], value: &Value) -> bool {
    let logging = path.first().is_some_and(|first| first == "logging");
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == "0s" || logging && text == "0",
        Value::Array(values) => values.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::Number(number) => logging && number.as_u64() == Some(0),
        Value::Bool(_) => false,
    }
}

/// The settings in one sentence, with the patch that keeps them. `None` if none is lost.
pub fn told(lost: &[Lost], folder: &str) -> Option<String> {
    if lost.is_empty() {
        return None;
    }
    let named: Vec<_> = lost.iter().take(NAMED).map(ToString::to_string).collect();
    let more = match lost.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    let folder = if folder.is_empty() {
        upgrade::policy::PATCHES
    } else {
        folder
    };
    let patch = patch(lost);
    let named = named.join(", ");
    Some(format!(
        "{named}{more}; {folder}/kubeletconfiguration9+merge.json with {patch} keeps them"
    ))
}

/// A merge patch that keeps the settings. Its null takes a field away (RFC 7386).
fn patch(lost: &[Lost]) -> Value {
    let mut whole = Map::new();
    for one in lost {
        put(&mut whole, &one.path, one.now.clone().unwrap_or_default());
    }
    Value::Object(whole)
}

fn put(fields: &mut Map<String, Value>, path: &[String], value: Value) {
    let Some((first, rest)) = path.split_first() else {
        return;
    };
    if rest.is_empty() {
        fields.insert(first.clone(), value);
        return;
    }
    let below = fields
        .entry(first.clone())
        .or_insert_with(|| Map::new().into());
    if let Value::Object(below) = below {
        put(below, rest, value);
    }
}

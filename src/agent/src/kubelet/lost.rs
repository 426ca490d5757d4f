//! Which settings of the kubelet's present configuration the next one would not have.

use serde_json::{Map, Value};

/// The most settings that a sentence names.
const NAMED: usize = 5;

/// One setting, and what it would be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its path in the configuration.
    path: Vec<String>,
    /// The value now.
    now: Value,
    /// The value after the upgrade; `None` if it would be unset.
    then: Option<Value>,
}

impl std::fmt::Display for Lost {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is {} and would be ", self.path.join("."), self.now)?;
        match &self.then {
            Some(then) => write!(f, "{then}"),
            None => f.write_str("unset"),
        }
    }
}

/// The settings of `now` that `then` does not have. What a patch of the node sets is wanted:
/// there `then` differs from `base`. A setting that is only in `then` is new and takes nothing away.
pub fn between(now: &Value, base: &Value, then: &Value) -> Vec<Lost> {
    let mut found = Vec::new();
    walk(&mut Vec::new(), now, &[Some(base), Some(then)], &mut found);
    found
}

fn walk(
    path: &mut Vec<String>,
    now: &Value,
    [base, then]: &[Option<&Value>; 2],
    found: &mut Vec<Lost>,
) {
    if let Value::Object(fields) = now {
        for (name, now) in fields {
            path.push(name.clone());
            let below =
                |value: &Option<&'_ Value>| value.and_then(|value| value.get(name)).cloned();
            let (base, then) = (below(base), below(then));
            walk(path, now, &[base.as_ref(), then.as_ref()], found);
            path.pop();
        }
    } else if !is_unset(path, now) && *then != Some(now) && base == then {
        found.push(Lost {
            path: path.clone(),
            now: now.clone(),
            then: then.filter(|then| !is_unset(path, then)).cloned(),
        });
    }
}

/// Whether a value means the kubelet's default. kubeadm writes fields without `omitempty` also where
/// nobody has set them: durations as "0s", lists as null, and numbers below `logging`
/// (k8s.io/kubelet/config/v1beta1). Elsewhere 0 is a value.
fn is_unset(path: &[String], value: &Value) -> bool {
    let logging = path.first().is_some_and(|first| first == "logging");
    match value {
        Value::Null => true,
        Value::String(text) => text.is_empty() || text == "0s" || logging && text == "0",
        Value::Array(values) => values.is_empty(),
        Value::Number(number) => logging && number.as_u64() == Some(0),
        Value::Bool(_) | Value::Object(_) => false,
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

/// A merge patch that keeps the settings.
fn patch(lost: &[Lost]) -> Value {
    let mut whole = Value::Object(Map::new());
    for one in lost {
        let nested = one.path.iter().rev().fold(one.now.clone(), |below, name| {
            Value::Object([(name.clone(), below)].into_iter().collect())
        });
        json_patch::merge(&mut whole, &nested);
    }
    whole
}

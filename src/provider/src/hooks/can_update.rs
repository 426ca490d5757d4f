//! Whether a change can be made in place. Every difference is checked against a list of what the
//! node's agent carries out.

use serde_json::Value;
use upgrade::Target;

use super::diff::Change;
use super::fields::{bootstrap_change, infra_change, machine_change};
use super::image;
use super::pairs::{Pair, of_machine, of_set, patch_of, within};
use super::patch::Patch;
use super::rules::Rules;
use super::wire::{Object, Objects};

/// The verdict on a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The patches by their key in the response. They are valid only if `uncovered` is empty.
    pub patches: Vec<(&'static str, Patch)>,
    /// What cannot be changed in place: object, field, reason.
    pub uncovered: Vec<String>,
    /// The desired version.
    pub version: String,
    /// The current version.
    pub from: String,
    /// The image that the InfraMachine names, if any.
    pub image: Option<Target>,
}

/// Judges the change of a Machine or a MachineSet.
///
/// # Errors
/// A message, if a required object or field is missing.
pub fn judge(rules: &Rules, current: &Objects, desired: &Objects) -> Result<Judged, String> {
    let set = desired.machine_set.is_some();
    let prefix = if set { "/template/spec" } else { "" };
    let [machine, infra, bootstrap] = if set {
        of_set(current, desired)
    } else {
        of_machine(current, desired)
    };
    let (Some(old), Some(new)) = (machine.current, machine.desired) else {
        return Err(
            "the request does not have a Machine or MachineSet in current and desired. Send both."
                .to_owned(),
        );
    };
    let version = |object: &Object| text(&object.spec, &format!("{prefix}/version"));
    let mut judged = Judged {
        patches: Vec::new(),
        uncovered: Vec::new(),
        version: version(new),
        from: version(old),
        image: None,
    };
    let mut refuse = |pair: &Pair<'_>, change: &Change<'_>, why: &str| {
        judged
            .uncovered
            .push(format!("{} {}: {why}", pair.name, change.path));
    };
    for change in within(&machine, prefix) {
        machine_change(&change, prefix).unwrap_or_else(|why| refuse(&machine, &change, why));
    }
    for change in within(&infra, prefix) {
        infra_change(&change, prefix, rules).unwrap_or_else(|why| refuse(&infra, &change, &why));
    }
    for change in within(&bootstrap, prefix) {
        bootstrap_change(&change, prefix).unwrap_or_else(|why| refuse(&bootstrap, &change, why));
    }
    if let Some(object) = infra.desired {
        judged.image = image_of(&object.spec, prefix, rules)?;
    }
    for pair in [machine, infra, bootstrap] {
        judged.patches.extend(patch_of(&pair, rules.patch_type));
    }
    Ok(judged)
}

fn text(spec: &Value, pointer: &str) -> String {
    spec.pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The image that an InfraMachine names.
///
/// # Errors
/// A message, if a field that names an image cannot be read.
pub fn image_of(spec: &Value, prefix: &str, rules: &Rules) -> Result<Option<Target>, String> {
    for field in &rules.image_fields {
        let value = spec.pointer(&format!("{prefix}{field}"));
        let named = image::named(value).map_err(|why| format!("{field}: {why}"))?;
        if named.is_some() {
            return Ok(named);
        }
    }
    Ok(None)
}

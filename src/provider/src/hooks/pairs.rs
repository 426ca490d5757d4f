//! The objects of a request, current and desired side by side.

use serde_json::Value;

use super::diff::{Change, changes};
use super::patch::{Patch, PatchType, patch};
use super::wire::{Object, Objects};

/// One pair of objects: its key in the response, the place of its spec (a template's is deeper),
/// and which fields may differ.
pub(super) struct Pair<'a> {
    pub(super) key: &'static str,
    pub(super) name: &'static str,
    pub(super) current: Option<&'a Object>,
    pub(super) desired: Option<&'a Object>,
}

fn pair<'a>(
    key: &'static str,
    name: &'static str,
    current: &'a Option<Object>,
    desired: &'a Option<Object>,
) -> Pair<'a> {
    Pair {
        key,
        name,
        current: current.as_ref(),
        desired: desired.as_ref(),
    }
}

pub(super) fn of_machine<'a>(current: &'a Objects, desired: &'a Objects) -> [Pair<'a>; 3] {
    [
        pair(
            "machinePatch",
            "Machine",
            &current.machine,
            &desired.machine,
        ),
        pair(
            "infrastructureMachinePatch",
            "InfraMachine",
            &current.infrastructure_machine,
            &desired.infrastructure_machine,
        ),
        pair(
            "bootstrapConfigPatch",
            "bootstrap config",
            &current.bootstrap_config,
            &desired.bootstrap_config,
        ),
    ]
}

pub(super) fn of_set<'a>(current: &'a Objects, desired: &'a Objects) -> [Pair<'a>; 3] {
    [
        pair(
            "machineSetPatch",
            "MachineSet",
            &current.machine_set,
            &desired.machine_set,
        ),
        pair(
            "infrastructureMachineTemplatePatch",
            "InfraMachine template",
            &current.infrastructure_machine_template,
            &desired.infrastructure_machine_template,
        ),
        pair(
            "bootstrapConfigTemplatePatch",
            "bootstrap template",
            &current.bootstrap_config_template,
            &desired.bootstrap_config_template,
        ),
    ]
}

const NOTHING: &Value = &Value::Null;

/// The differences in the part of the specs that core compares.
pub(super) fn within<'a>(pair: &Pair<'a>, prefix: &str) -> Vec<Change<'a>> {
    let spec = |object: Option<&'a Object>| {
        object
            .and_then(|object| object.spec.pointer(prefix))
            .unwrap_or(NOTHING)
    };
    changes(
        &format!("spec{prefix}"),
        spec(pair.current),
        spec(pair.desired),
    )
}

pub(super) fn patch_of(pair: &Pair<'_>, kind: PatchType) -> Option<(&'static str, Patch)> {
    let (current, desired) = (pair.current?, pair.desired?);
    Some((pair.key, patch(kind, &current.spec, &desired.spec)?))
}

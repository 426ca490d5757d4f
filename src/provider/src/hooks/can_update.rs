//! Whether a change can be made in place: every difference is held against a list of what the node's agent really carries out.

use serde_json::Value;
use upgrade::Target;

use super::diff::{Change, changes};
use super::image;
use super::patch::{Patch, PatchType, patch};
use super::wire::{Object, Objects};

/// What is let in.
#[derive(Clone, Debug)]
pub struct Rules {
    /// Fields of an InfraMachine's spec that name an image, as JSON pointers below the spec.
    pub image_fields: Vec<String>,
    /// The form of the patches.
    pub patch_type: PatchType,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// The patches by their key in the response. Only of use when nothing is uncovered.
    pub patches: Vec<(&'static str, Patch)>,
    /// What cannot be changed in place: object, field, why.
    pub uncovered: Vec<String>,
    /// The version that is wanted.
    pub version: String,
    /// The version that is there.
    pub from: String,
    /// The image that the InfraMachine names, if it names one.
    pub image: Option<Target>,
}

/// What core does not compare (capi.md 2.4: `internal/util/inplace`), so that a difference there is none.
const NOT_COMPARED: &[&str] = &[
    "/clusterName",
    "/bootstrap",
    "/infrastructureRef",
    "/providerID",
    "/minReadySeconds",
    "/readinessGates",
    "/nodeDeletionTimeout",
    "/nodeDrainTimeout",
    "/nodeVolumeDetachTimeout",
    "/deletion",
    "/taints",
];

/// What of a KubeadmConfig is settled by the version alone: KubeadmControlPlane sets and drops this gate between v1.31 and v1.36, and
/// `kubeadm upgrade node` reads the rest from the cluster.
const BY_VERSION: &[&str] = &["/clusterConfiguration/featureGates/ControlPlaneKubeletLocalMode"];

/// One pair of objects: its key in the response, where its spec lies (a template's is deeper), and what may differ.
struct Pair<'a> {
    key: &'static str,
    name: &'static str,
    current: Option<&'a Object>,
    desired: Option<&'a Object>,
}

/// Judges a Machine's or a MachineSet's change.
///
/// # Errors
/// In words, when what must be there is not.
pub fn judge(rules: &Rules, current: &Objects, desired: &Objects) -> Result<Judged, String> {
    let set = desired.machine_set.is_some();
    let prefix = if set { "/template/spec" } else { "" };
    let [machine, infra, bootstrap] = if set {
        of_set(current, desired)
    } else {
        of_machine(current, desired)
    };
    let (Some(old), Some(new)) = (machine.current, machine.desired) else {
        return Err("the request holds no Machine or MachineSet in current and desired".to_owned());
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

fn of_machine<'a>(current: &'a Objects, desired: &'a Objects) -> [Pair<'a>; 3] {
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

fn of_set<'a>(current: &'a Objects, desired: &'a Objects) -> [Pair<'a>; 3] {
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
fn within<'a>(pair: &Pair<'a>, prefix: &str) -> Vec<Change<'a>> {
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

/// The path below the compared part.
fn relative<'a>(change: &'a Change<'_>, prefix: &str) -> &'a str {
    change
        .path
        .strip_prefix("spec")
        .and_then(|path| path.strip_prefix(prefix))
        .unwrap_or(&change.path)
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn machine_change(change: &Change<'_>, prefix: &str) -> Result<(), &'static str> {
    let path = relative(change, prefix);
    match path {
        "/version" if change.desired.is_some_and(Value::is_string) => Ok(()),
        "/version" => Err("a Machine needs a version"),
        "/failureDomain" => Err("a node does not move to another failure domain by an upgrade"),
        _ if NOT_COMPARED.iter().any(|parent| is_below(path, parent)) => Ok(()),
        _ => Err("not known to be changed by an upgrade of the node"),
    }
}

fn infra_change(change: &Change<'_>, prefix: &str, rules: &Rules) -> Result<(), String> {
    let path = relative(change, prefix);
    if !rules.image_fields.iter().any(|field| field == path) {
        return Err(
            "not a field that names an image, so it belongs to the machine itself".to_owned(),
        );
    }
    if change.desired.is_none() {
        return Ok(());
    }
    match image::named(change.desired)? {
        Some(_) => Ok(()),
        None => Err(format!(
            "not an image that a node may be asked for; accepted is {}",
            image::ACCEPTED
        )),
    }
}

fn bootstrap_change(change: &Change<'_>, prefix: &str) -> Result<(), &'static str> {
    let path = relative(change, prefix);
    if BY_VERSION.contains(&path) {
        return Ok(());
    }
    Err("what a node is bootstrapped with is not changed by an upgrade of it")
}

fn patch_of(pair: &Pair<'_>, kind: PatchType) -> Option<(&'static str, Patch)> {
    let (current, desired) = (pair.current?, pair.desired?);
    Some((pair.key, patch(kind, &current.spec, &desired.spec)?))
}

fn text(spec: &Value, pointer: &str) -> String {
    spec.pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
        .to_owned()
}

/// The image that an InfraMachine names itself.
///
/// # Errors
/// In words, when a field that names an image cannot be read.
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

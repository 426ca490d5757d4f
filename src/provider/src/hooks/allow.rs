//! The answers of CanUpdateMachine and CanUpdateMachineSet: whether a change is covered, and
//! whether it could start now.

use serde_json::Value;
use thiserror::Error;
use upgrade::{Malformed, Version};

use super::can_update::{Judged, judge};
use super::unready::Unready;
use super::wire::{Object, Objects, Request, Response};
use crate::catalogue::{For, choose};
use crate::clusters::ClusterState;
use crate::engine::{ControlPlane, Why, clean, reach, skew, step};
use crate::events::{self, Happened};
use crate::machines::{Group, GroupKind, Key};
use crate::names;
use crate::world::World;

/// Why the provider does not promise this. The agent refuses such a node unless its policy enables
/// it, and the rollout would stop there.
const NO_CONTROL_PLANE: &str = "the Machine: it is of a control plane, and careen-provider runs without --control-planes (ControlPlane)";

/// Answers either hook.
pub fn can_update(world: &World, request: &Request) -> Response {
    if !world.synced() {
        return Response::Hold(Unready::Starting.to_string());
    }
    let judged = world
        .settings
        .rules(&request.settings)
        .and_then(|rules| judge(&rules, &request.current, &request.desired));
    let mut judged = match judged {
        Ok(judged) => judged,
        Err(why) => return Response::Hold(why),
    };
    if !world.settings.control_planes && is_of_control_plane(request) {
        judged.uncovered.push(NO_CONTROL_PLANE.to_owned());
    }
    if !judged.uncovered.is_empty() {
        return uncovered(world, request, &judged);
    }
    match possible(world, request, &judged) {
        Ok(()) => Response::Can(judged.patches, String::new()),
        Err(why) => {
            if let Some((_, object)) = subject(request) {
                tell(world, object, &why.code(), &format!("held: {why}"));
            }
            Response::Hold(why.to_string())
        }
    }
}

fn subject(request: &Request) -> Option<(&'static str, &Object)> {
    let Objects {
        machine,
        machine_set,
        ..
    } = &request.desired;
    let set = machine_set.as_ref().map(|set| ("MachineSet", set));
    set.or(machine.as_ref().map(|machine| ("Machine", machine)))
}

/// Core asks about single Machines only for control planes. For a MachineDeployment it asks about
/// the MachineSet.
fn is_of_control_plane(request: &Request) -> bool {
    subject(request).is_some_and(|(kind, object)| kind == "Machine" || is_labelled(object))
}

fn is_labelled(object: &Object) -> bool {
    let labels = &object.metadata.labels;
    labels.contains_key(names::CONTROL_PLANE_LABEL)
}

/// A change that a node cannot make. Core replaces the Machine unless a never-replace setting
/// forbids it.
fn uncovered(world: &World, request: &Request, judged: &Judged) -> Response {
    let list = clean(&judged.uncovered.join("; "));
    let Some((_, object)) = subject(request) else {
        return Response::Hold(list);
    };
    let words = match words_on_replacing(world, object) {
        Ok(words) => words,
        Err(why) => return Response::Hold(why.to_string()),
    };
    let of_settings = request.settings.get(names::SETTING_NEVER_REPLACE);
    let words = [
        words.of_owner.as_deref(),
        words.of_cluster.as_deref(),
        of_settings.map(String::as_str),
    ];
    let replace = !world.settings.never_replace(words);
    world.metrics.uncovered(replace);
    let outcome = match replace {
        true => NotInPlace::Replaced(list),
        false => NotInPlace::Held(list),
    };
    let note = outcome.to_string();
    tell(world, object, "NotInPlace", &note);
    match outcome {
        NotInPlace::Replaced(_) => Response::Replace(note),
        NotInPlace::Held(_) => Response::Hold(note),
    }
}

/// The consequence of a change that a node cannot make. Each lists what cannot be changed, and why.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NotInPlace {
    /// Core replaces the Machines.
    #[error(
        "replaced, because the change cannot be made in place: {0}. No action is needed; set neverReplace to stop such a rollout."
    )]
    Replaced(String),
    /// A never-replace setting forbids it.
    #[error(
        "held, because neverReplace is set and the change cannot be made in place: {0}. Undo the change, or set neverReplace to false."
    )]
    Held(String),
}

/// The never-replace settings on the objects.
struct Words {
    of_cluster: Option<String>,
    of_owner: Option<String>,
}

/// Reads the never-replace settings. Core calls for all namespaces, including those that are not
/// watched. A setting that is not visible must not count as absent.
fn words_on_replacing(world: &World, object: &Object) -> Result<Words, Unready> {
    let key = cluster_of(object);
    let unseen = |kind: &'static str, key: &Key| {
        let key = key.to_string();
        Unready::NoOwner { kind, key }
    };
    let cluster = world.machines.cluster(&key);
    Ok(Words {
        of_cluster: cluster
            .ok_or_else(|| unseen("Cluster", &key))?
            .never_replace,
        of_owner: never_replace_of_owner(world, object)
            .map_err(|key| unseen("MachineDeployment", &key))?,
    })
}

/// The never-replace setting of the MachineDeployment. For a control plane's Machine, that of its
/// KubeadmControlPlane, which another kind may replace. The error is the key of a MachineDeployment
/// that is not visible.
fn never_replace_of_owner(world: &World, object: &Object) -> Result<Option<String>, Key> {
    if is_labelled(object) {
        let owner = world.machines.owner_of_control_plane(&cluster_of(object));
        return Ok(owner.and_then(|(_, owner)| owner.never_replace));
    }
    let Some(key) = deployment_of(object) else {
        return Ok(None);
    };
    let deployment = world.machines.deployment(&key).ok_or(key)?;
    Ok(deployment.never_replace)
}

/// Writes to the log and to an Event of the Machine or the MachineDeployment, because core shows
/// the text of a Failure nowhere.
fn tell(world: &World, object: &Object, reason: &str, note: &str) {
    let namespace = object.metadata.namespace.clone();
    let machine = Key::new(namespace.as_str(), object.metadata.name.as_str());
    let of_deployment = deployment_of(object).and_then(|key| {
        Some((
            "MachineDeployment",
            key.name.to_string(),
            world.machines.deployment(&key)?.uid,
        ))
    });
    let of_machine = || {
        let found = world.machines.get(&machine)?;
        Some(("Machine", found.name.clone(), found.uid.clone()))
    };
    tracing::warn!(%machine, reason, "{note}");
    if let Some((kind, name, uid)) = of_deployment.or_else(of_machine) {
        world.happened(Happened {
            api_version: events::core(),
            kind: kind.to_owned(),
            namespace,
            name,
            uid,
            reason: reason.to_owned(),
            note: note.to_owned(),
        });
    }
}

fn deployment_of(object: &Object) -> Option<Key> {
    let name = object.metadata.labels.get(names::DEPLOYMENT_LABEL)?;
    Some(Key::new(object.metadata.namespace.as_str(), name.as_str()))
}

fn cluster_of(object: &Object) -> Key {
    let name = object
        .spec
        .get("clusterName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Key::new(object.metadata.namespace.as_str(), name)
}

/// Whether the upgrade could start: there is an image, and the versions are in order. Unknown facts
/// hold the call.
fn possible(world: &World, request: &Request, judged: &Judged) -> Result<(), Why> {
    let Some((kind, object)) = subject(request) else {
        return Err(Why::NoNode);
    };
    let bad = |bad: Malformed| Why::BadVersion {
        version: clean(&bad.value),
        wrong: bad.wrong.unwrap_or_default(),
    };
    let wanted: Version = judged.version.parse().map_err(bad)?;
    if judged.image.is_none() {
        let labels = labels_of(object);
        let name = if kind == "Machine" {
            format!("Machine {}", object.metadata.name)
        } else {
            deployment(object)
        };
        let wanted = For {
            name: &name,
            version: &judged.version,
            labels: &labels,
            architecture: None,
        };
        match world.catalogues.look(|all| choose(all, wanted)) {
            // Each Machine shows which of two images fits, because its architecture is known.
            Ok(_) | Err(Why::TwoImages { .. }) => {}
            Err(why) => return Err(why),
        }
    }
    versions(world, object, judged, &wanted)
}

fn versions(world: &World, object: &Object, judged: &Judged, wanted: &Version) -> Result<(), Why> {
    let control_plane = is_labelled(object);
    let allowed = if control_plane {
        1
    } else {
        world.settings.policy.worker_step
    };
    if let Ok(from) = judged.from.parse() {
        step(&from, wanted, allowed)?;
    }
    let key = cluster_of(object);
    let cluster = world.clusters.get(&key);
    cluster.link().map_err(|detail| Why::ApiAway {
        cluster: key.name.to_string(),
        detail: clean(&detail),
    })?;
    if control_plane {
        reach(wanted, world.oldest_kubelet(&key, &cluster).as_ref())?;
        return unhurt(world, object, &cluster);
    }
    let facts = ControlPlane {
        oldest: world.oldest(&key, &cluster),
        ..ControlPlane::default()
    };
    skew(&key.name, wanted, &facts).inspect_err(|why| world.doubt(&key, &cluster, why))
}

/// While another member is hurt, a rollout does not come to this one. Cluster API then waits, and
/// deletes nothing.
fn unhurt(world: &World, object: &Object, cluster: &ClusterState) -> Result<(), Why> {
    let group = Group {
        cluster: cluster_of(object),
        kind: GroupKind::ControlPlane,
    };
    let machine = Key::new(
        object.metadata.namespace.as_str(),
        object.metadata.name.as_str(),
    );
    let hurt = world.hurt(&group, &machine, cluster);
    hurt.map_or(Ok(()), |other| Err(Why::hurt(group.to_string(), other)))
}

/// The MachineDeployment's name. A MachineSet's name is random at each try.
fn deployment(object: &Object) -> String {
    let name = object.metadata.labels.get(names::DEPLOYMENT_LABEL);
    name.map_or_else(
        || "the MachineSet".to_owned(),
        |name| format!("MachineDeployment {name}"),
    )
}

/// The labels that the Machines have or will have.
fn labels_of(object: &Object) -> std::collections::BTreeMap<String, String> {
    let template = object.spec.pointer("/template/metadata/labels");
    let of_template = template.and_then(|labels| serde_json::from_value(labels.clone()).ok());
    of_template.unwrap_or_else(|| object.metadata.labels.clone())
}

//! From a path and a body to an answer.

use serde_json::{Value, json};
use upgrade::Version;

use super::can_update::{Judged, judge};
use super::discovery;
use super::update::update;
use super::wire::{Object, Request, Response};
use super::{API_VERSION, wire};
use crate::catalogue::{For, choose};
use crate::engine::{ControlPlane, Why, clean, skew, step};
use crate::machines::Key;
use crate::names;
use crate::world::World;

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// Which hooks are served.
    Discovery,
    /// Whether one Machine of a control plane can be updated in place.
    CanUpdateMachine,
    /// Whether the Machines of a MachineSet can.
    CanUpdateMachineSet,
    /// Do it, and say how far it is.
    UpdateMachine,
}

impl Hook {
    /// As in kinds.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovery => "Discovery",
            Self::CanUpdateMachine => "CanUpdateMachine",
            Self::CanUpdateMachineSet => "CanUpdateMachineSet",
            Self::UpdateMachine => "UpdateMachine",
        }
    }

    /// The handler's name; core adds the ExtensionConfig's to it, but calls by this one alone.
    #[must_use]
    pub const fn handler(self) -> &'static str {
        match self {
            Self::Discovery => "",
            Self::CanUpdateMachine => "can-update-machine",
            Self::CanUpdateMachineSet => "can-update-machineset",
            Self::UpdateMachine => "update-machine",
        }
    }
}

/// The hook that a path names. What stands before the API version is the prefix of the ExtensionConfig's URL.
#[must_use]
pub fn hook_of(path: &str) -> Option<Hook> {
    let (_, rest) = path.split_once(&format!("/{API_VERSION}/"))?;
    let (word, handler) = rest.split_once('/').unwrap_or((rest, ""));
    let all = [
        Hook::Discovery,
        Hook::CanUpdateMachine,
        Hook::CanUpdateMachineSet,
        Hook::UpdateMachine,
    ];
    all.into_iter()
        .find(|hook| hook.name().eq_ignore_ascii_case(word) && hook.handler() == handler)
}

/// An HTTP status and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// Core takes anything but 200 for an error and asks again.
    pub status: u16,
    /// JSON.
    pub body: Value,
}

impl Reply {
    /// A refusal of a call that core would not make.
    #[must_use]
    pub fn refuse(status: u16, message: &str) -> Self {
        Self {
            status,
            body: json!({ "status": "Failure", "message": message }),
        }
    }
}

/// Answers one call.
#[must_use]
pub fn answer(world: &World, hook: Hook, body: &[u8], now: i64) -> Reply {
    let request: Request = match serde_json::from_slice(body) {
        Ok(request) => request,
        // serde's message holds no part of the body, which may be secret.
        Err(error) => {
            return Reply::refuse(
                400,
                &format!("the body is no {} request: {error}", hook.name()),
            );
        }
    };
    if let Err(why) = speaks(&request, hook) {
        return Reply::refuse(400, &why);
    }
    let response = match hook {
        Hook::Discovery => Response::Discovery(discovery::handlers()),
        Hook::UpdateMachine => update(world, &request, now),
        Hook::CanUpdateMachine | Hook::CanUpdateMachineSet => can_update(world, &request),
    };
    Reply {
        status: 200,
        body: response.body(hook),
    }
}

fn speaks(request: &Request, hook: Hook) -> Result<(), String> {
    if request.api_version != API_VERSION {
        return Err(format!(
            "apiVersion is {:?}; spoken is {API_VERSION}",
            clean(&request.api_version)
        ));
    }
    let kind = format!("{}Request", hook.name());
    if request.kind != kind {
        return Err(format!(
            "kind is {:?}; this path takes {kind}",
            clean(&request.kind)
        ));
    }
    Ok(())
}

fn can_update(world: &World, request: &Request) -> Response {
    // Somebody's word against replacing may be among what is not seen yet.
    if !world.synced() {
        return Response::Hold(
            "careen-provider has just started and does not see everything yet".to_owned(),
        );
    }
    let judged = world
        .settings
        .rules(&request.settings)
        .and_then(|rules| judge(&rules, &request.current, &request.desired));
    let judged = match judged {
        Ok(judged) => judged,
        Err(why) => return Response::Hold(why),
    };
    if !judged.uncovered.is_empty() {
        return uncovered(world, request, &judged);
    }
    match possible(world, request, &judged) {
        Ok(()) => Response::Can(judged.patches, String::new()),
        Err(why) => Response::Hold(why.to_string()),
    }
}

fn subject(request: &Request) -> Option<(&'static str, &Object)> {
    let wire::Objects {
        machine,
        machine_set,
        ..
    } = &request.desired;
    let set = machine_set.as_ref().map(|set| ("MachineSet", set));
    set.or(machine.as_ref().map(|machine| ("Machine", machine)))
}

/// A change that a node cannot make: core replaces the Machine, unless somebody said never.
fn uncovered(world: &World, request: &Request, judged: &Judged) -> Response {
    let list = clean(&judged.uncovered.join("; "));
    let Some((_, object)) = subject(request) else {
        return Response::Hold(list);
    };
    let namespace = object.metadata.namespace.as_str();
    let of_cluster = world
        .machines
        .cluster(&cluster_of(object))
        .and_then(|facts| facts.never_replace);
    let of_deployment = object
        .metadata
        .labels
        .get(names::DEPLOYMENT_LABEL)
        .and_then(|name| {
            let facts = world
                .machines
                .deployment(&Key::new(namespace, name.as_str()));
            facts.and_then(|facts| facts.never_replace)
        });
    let of_settings = request.settings.get(names::SETTING_NEVER_REPLACE);
    let words = [
        of_deployment.as_deref(),
        of_cluster.as_deref(),
        of_settings.map(String::as_str),
    ];
    let (name, replace) = (&object.metadata.name, !world.settings.never_replace(words));
    tracing::warn!(%name, namespace, replace, "cannot be changed in place: {list}");
    world.metrics.uncovered(replace);
    if replace {
        return Response::Replace(format!("not in place: {list}"));
    }
    Response::Hold(format!(
        "held, because {} is set: {list}",
        names::SETTING_NEVER_REPLACE
    ))
}

fn cluster_of(object: &Object) -> Key {
    let name = object
        .spec
        .get("clusterName")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Key::new(object.metadata.namespace.as_str(), name)
}

/// Whether it could be begun: an image for it, and versions in order. What is not known is not judged, so it holds.
fn possible(world: &World, request: &Request, judged: &Judged) -> Result<(), Why> {
    let Some((kind, object)) = subject(request) else {
        return Err(Why::NoNode);
    };
    let bad = |text: &str| Why::BadVersion {
        version: clean(text),
    };
    let wanted: Version = judged.version.parse().map_err(|_| bad(&judged.version))?;
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
            // Which of two fits is seen at each Machine, where the architecture is known.
            Ok(_) | Err(Why::TwoImages { .. }) => {}
            Err(why) => return Err(why),
        }
    }
    versions(world, object, judged, &wanted)
}

fn versions(world: &World, object: &Object, judged: &Judged, wanted: &Version) -> Result<(), Why> {
    let control_plane = object
        .metadata
        .labels
        .contains_key(names::CONTROL_PLANE_LABEL);
    let allowed = if control_plane {
        1
    } else {
        world.settings.policy.worker_step
    };
    if let Ok(from) = judged.from.parse() {
        step(&from, wanted, allowed)?;
    }
    if control_plane {
        return Ok(());
    }
    let key = cluster_of(object);
    let cluster = world.clusters.get(&key);
    cluster.link().map_err(|detail| Why::ApiAway {
        cluster: key.name.to_string(),
        detail: clean(&detail),
    })?;
    let facts = ControlPlane {
        oldest: world.oldest(&key, &cluster),
        pods: Vec::new(),
    };
    skew(&key.name, wanted, &facts)
}

/// A MachineSet's name is random at each try; the MachineDeployment's is not.
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

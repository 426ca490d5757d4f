//! UpdateMachine: one call that both starts the update and asks for its progress. Core repeats it
//! until the provider says done.

use super::can_update::image_of;
use super::unready::Unready;
use super::wire::{Request, Response};
use crate::engine::{Answer, Instruction, Why};
use crate::machines::Key;
use crate::world::World;

/// Answers from the watched state, and has any due write done in the background. The provider
/// starts nothing on a caller's word alone: the Machine itself must show that core updates it, and
/// to which version.
pub fn update(world: &World, request: &Request, now: i64) -> Response {
    let hold = |message: &str, seconds| Response::InProgress(format!("held: {message}"), seconds);
    let Some(asked) = request.desired.machine.as_ref() else {
        return Response::Hold("the request does not have a desired Machine. Send it.".to_owned());
    };
    let rules = match world.settings.rules(&request.settings) {
        Ok(rules) => rules,
        Err(why) => return hold(&why, 15),
    };
    let infra = request.desired.infrastructure_machine.as_ref();
    let image = match infra.map_or(Ok(None), |infra| image_of(&infra.spec, "", &rules)) {
        Ok(image) => image,
        Err(why) => return hold(&why, 15),
    };
    let key = Key::new(
        asked.metadata.namespace.as_str(),
        asked.metadata.name.as_str(),
    );
    let told = Instruction {
        version: version_of(asked),
        image: Ok(image),
    };
    pursue(world, &key, &told, now)
        .unwrap_or_else(|unready| hold(&unready.to_string(), unready.retry_after()))
}

fn pursue(world: &World, key: &Key, told: &Instruction, now: i64) -> Result<Response, Unready> {
    if !world.synced() {
        return Err(Unready::Starting);
    }
    let machine = world.machines.get(key).ok_or(Unready::NoMachine)?;
    if machine.version.as_deref() != Some(told.version.as_str()) {
        return Err(Unready::OtherVersion);
    }
    world.tell(key, told.clone());
    if !machine.is_called_for() {
        return Err(Unready::NotUpdated);
    }
    let decision = world.decide_for(&machine, Some(told), now);
    if decision.node.is_some() || decision.mark.is_some() {
        world.queue.add(key.clone());
        if let Some(detail) = world.unwritten(key) {
            let why = Why::Unwritten { detail };
            let seconds = why.retry_after();
            return Ok(Response::InProgress(format!("held: {why}"), seconds));
        }
    }
    let message = decision.answer.message();
    if decision.answer == Answer::Done {
        return Ok(Response::Done(message));
    }
    let seconds = decision.answer.retry_after();
    Ok(Response::InProgress(message, seconds))
}

fn version_of(machine: &super::wire::Object) -> String {
    let version = machine
        .spec
        .get("version")
        .and_then(serde_json::Value::as_str);
    version.unwrap_or_default().to_owned()
}

//! Carries out decisions. Each action can be interrupted anywhere and repeated.

use host::agents::Role;
use tracing::info;
use upgrade::{Activity, names};

use crate::decide::Act;
use crate::failed::Failed;
use crate::look::{activity, has_a_proven_one};
use crate::node::Node;
use crate::room;
use crate::systemd::{Origin, Systemd};
use crate::units;

/// Carries the action out.
///
/// # Errors
/// If it fails; the next turn sees what is left to do.
pub fn act(act: Act, node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    match act {
        Act::Nothing => Ok(()),
        Act::Install => install(node, systemd),
        Act::Rescue => rescue(node, systemd),
        Act::Repair => repair(node, systemd),
        Act::Start => start(node, systemd),
        Act::Prove => prove(node),
        Act::GiveUp => give_up(node, systemd),
    }
}

/// Copies while the old agent runs, which has no effect yet. The change that activates the copy is
/// made after the agent has stopped, and after the final check. If anything fails there, an agent
/// is started again.
fn install(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    stop_unless_busy(node, systemd, Activity::Waits)?;
    let switched = switch(node, systemd);
    systemd.start(names::AGENT_UNIT)?;
    switched?;
    info!("{} is installed", node.brought.id);
    Ok(())
}

/// Stops nothing: no agent is running that could be in the middle of an upgrade, and the next agent
/// follows a careen-deploy that still runs.
fn rescue(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    switch(node, systemd)?;
    systemd.start(names::AGENT_UNIT)?;
    info!("{} continues the upgrade", node.brought.id);
    Ok(())
}

/// Sets the link that activates the agent last. A pod that is killed before that leaves the old
/// agent, and the next pod sees what is left to do.
fn switch(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    let id = &node.brought.id;
    let image_has_one = systemd.service(names::AGENT_UNIT)?.origin == Origin::Image;
    if !image_has_one && !has_a_proven_one(node) {
        // The installer's units start the proven agent, and here no better one is known.
        node.agents.appoint(Role::Proven, id)?;
    }
    units::put(node)?;
    systemd.reload()?;
    Ok(node.agents.want(id)?)
}

/// Writes the same bytes under the same name. It changes nothing else, so it may be done at any
/// time.
fn repair(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    info!(
        "{} was damaged on the disk and is repaired",
        node.brought.id
    );
    start(node, systemd)
}

/// A pod that was killed may have written units that systemd never loaded, or somebody may have
/// removed them. Where no unit is known, no agent can be in the middle of an upgrade.
fn start(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    if systemd.service(names::AGENT_UNIT)?.origin == Origin::Nobody {
        units::put(node)?;
        systemd.reload()?;
    }
    Ok(systemd.start(names::AGENT_UNIT)?)
}

/// Stops the agent unless it is busy. The agent may start something between a look at the record
/// and its stop. So the decisive look is the one after the stop, when nobody is left to start
/// anything. `at_most` is the highest state that permits the change.
///
/// # Errors
/// [`Failed::Overtaken`] if the agent started something, or any other failure. The agent is then
/// started again.
pub fn stop_unless_busy(
    node: &Node,
    systemd: &dyn Systemd,
    at_most: Activity,
) -> Result<(), Failed> {
    let stopped = systemd.stop(names::AGENT_UNIT).map_err(Failed::from);
    let free = stopped.and_then(|()| match activity(node, systemd)? <= at_most {
        true => Ok(()),
        false => Err(Failed::Overtaken),
    });
    if free.is_err() {
        systemd.start(names::AGENT_UNIT)?;
    }
    free
}

fn prove(node: &Node) -> Result<(), Failed> {
    node.agents.appoint(Role::Proven, &node.brought.id)?;
    node.agents.clear_out()?;
    info!(
        "{} has run long enough and is now the proven agent",
        node.brought.id
    );
    Ok(())
}

/// The launcher has already left this agent; this keeps it from being selected again. It restarts
/// nothing: the running agent continues.
fn give_up(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    node.agents.give_up(&node.brought.id)?;
    match node.agents.id(Role::Proven)? {
        Some(proven) => node.agents.appoint(Role::Wanted, &proven)?,
        None => node.agents.dismiss(Role::Wanted)?,
    }
    info!("gave up on {}", node.brought.id);
    Ok(systemd.start(names::AGENT_UNIT)?)
}

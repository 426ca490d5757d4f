//! Doing what was decided. Each act can be cut off anywhere and done again.

use host::agents::Role;
use thiserror::Error;
use tracing::info;
use upgrade::{Standing, names};

use crate::decide::Act;
use crate::look::{Blind, has_a_proven_one, standing};
use crate::node::Node;
use crate::room;
use crate::systemd::{Origin, Refused, Systemd};
use crate::units;

/// Why it was not done.
#[derive(Debug, Error)]
#[allow(missing_docs)] // the messages say it
pub enum Failed {
    #[error("an upgrade has just begun. Waiting until it ends")]
    Overtaken,
    #[error(
        "not enough room below {place}: {free} bytes are free, {wanted} are needed. Make room; until then nothing changes"
    )]
    NoRoom {
        place: String,
        free: u64,
        wanted: u64,
    },
    #[error(transparent)]
    Blind(#[from] Blind),
    #[error(transparent)]
    Host(#[from] host::Error),
    #[error(transparent)]
    Systemd(#[from] Refused),
}

/// Does it.
///
/// # Errors
/// When it is not done; the next turn sees what is left to do.
pub fn act(act: Act, node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    match act {
        Act::Nothing => Ok(()),
        Act::Install => install(node, systemd),
        Act::Rescue => rescue(node, systemd),
        Act::Mend => mend(node, systemd),
        Act::Start => start(node, systemd),
        Act::Prove => prove(node),
        Act::GiveUp => give_up(node, systemd),
    }
}

/// Copies while the old agent runs, which nobody sees; what makes the copy count is changed when it does not, behind the look that counts.
/// Whatever fails there, an agent is started again.
fn install(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    stop_unless_busy(node, systemd, Standing::Waits)?;
    let switched = switch(node, systemd);
    systemd.start(names::AGENT_UNIT)?;
    switched?;
    info!("{} is installed", node.brought.id);
    Ok(())
}

/// Nothing is stopped: there is no agent that could be in the middle of anything, and a run of careen-deploy that lives is followed by the next.
fn rescue(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    switch(node, systemd)?;
    systemd.start(names::AGENT_UNIT)?;
    info!("{} continues the upgrade", node.brought.id);
    Ok(())
}

/// The link that makes it run comes last: a pod that is killed on the way leaves the old agent, and the next pod sees what is left to do.
fn switch(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    let id = &node.brought.id;
    let image_has_one = systemd.service(names::AGENT_UNIT)?.origin == Origin::Image;
    if !image_has_one && !has_a_proven_one(node) {
        // Our units name the proven one, and here nothing better is known.
        node.agents.appoint(Role::Proven, id)?;
    }
    units::put(node)?;
    systemd.reload()?;
    Ok(node.agents.want(id)?)
}

/// The same bytes under the same name: nothing else is changed by it, so it may be done at any time.
fn mend(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    room::check(node)?;
    node.agents.take(&node.brought)?;
    info!(
        "{} was damaged on the disk and is repaired",
        node.brought.id
    );
    start(node, systemd)
}

/// A pod that was killed may have put units that systemd never read, or somebody has removed them: where no unit is known there is no agent
/// that could be in the middle of anything.
fn start(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    if systemd.service(names::AGENT_UNIT)?.origin == Origin::Nobody {
        units::put(node)?;
        systemd.reload()?;
    }
    Ok(systemd.start(names::AGENT_UNIT)?)
}

/// Between a look at the record and the stop of the agent it may have begun something: so the look that counts is the one after the stop,
/// when nobody is left who could. `at_most` is what the change is allowed with.
///
/// # Errors
/// [`Failed::Overtaken`] when it has, and whatever else fails; then the agent is started again.
pub fn stop_unless_busy(
    node: &Node,
    systemd: &dyn Systemd,
    at_most: Standing,
) -> Result<(), Failed> {
    let stopped = systemd.stop(names::AGENT_UNIT).map_err(Failed::from);
    let free = stopped.and_then(|()| match standing(node, systemd)? <= at_most {
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

/// The launcher has left it already; this keeps it from being wanted again. No restart: what serves goes on serving.
fn give_up(node: &Node, systemd: &dyn Systemd) -> Result<(), Failed> {
    node.agents.give_up(&node.brought.id)?;
    match node.agents.id(Role::Proven)? {
        Some(proven) => node.agents.appoint(Role::Wanted, &proven)?,
        None => node.agents.dismiss(Role::Wanted)?,
    }
    info!("gave up on {}", node.brought.id);
    Ok(systemd.start(names::AGENT_UNIT)?)
}

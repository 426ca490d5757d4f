//! The uninstall, which an operator requests with a separate manifest. A pod that is only stopped
//! or deleted never comes here.

use host::agents::Role;
use host::snapshot;
use tracing::info;
use upgrade::{Activity, Reason, names};

use crate::act::stop_unless_busy;
use crate::failed::Failed;
use crate::health::Health;
use crate::look::{activity, can_run};
use crate::node::Node;
use crate::systemd::{Active, Origin, Systemd};
use crate::units;

/// The final message.
const GONE: &str = "Careen is removed from this node. Delete this DaemonSet when all nodes say so";

/// The message while an upgrade is in progress.
const UNDER_WAY: &str = "refused: an upgrade of this node is under way. Careen is removed after it; to end it sooner, withdraw the request";

/// The message if an upgrade is in progress and no agent can finish it.
const ORPHANED: &str = "refused: an upgrade of this node is under way, and no agent is left to finish it. Install the DaemonSet again so that an agent finishes the upgrade; then uninstall";

/// Removes what a pod has installed. It refuses while an upgrade is in progress, which nobody would
/// finish, or while the last one has left something to restore.
///
/// What belongs to the node stays: the record, the policy, and the image's own agent, which takes
/// over again.
///
/// # Errors
/// If something may be left. The removal can be repeated.
pub fn remove(node: &Node, systemd: &dyn Systemd) -> Result<Health, Failed> {
    if is_gone(node) {
        return Ok(told(true, GONE));
    }
    if let Some(why) = in_the_way(node, systemd)? {
        return Ok(told(false, &why));
    }
    stop_unless_busy(node, systemd, Activity::Free)?;
    // Its program is removed too.
    systemd.stop(names::PLAN_UNIT)?;
    units::remove(node)?;
    node.agents.dismiss(Role::Wanted)?;
    node.agents.dismiss(Role::Proven)?;
    systemd.reload()?;
    if systemd.service(names::AGENT_UNIT)?.origin == Origin::Image {
        systemd.start(names::AGENT_UNIT)?;
    }
    // Last: as long as it exists, it shows that something is left to do.
    node.agents.remove()?;
    info!("removed");
    Ok(told(true, GONE))
}

/// Why nothing may be removed yet. An upgrade notes what it owes before the record says that it has
/// ended. So this checks the record first and the note after it.
fn in_the_way(node: &Node, systemd: &dyn Systemd) -> Result<Option<String>, Failed> {
    match activity(node, systemd)? {
        Activity::Free => owes(node, systemd),
        // Nobody would be left to end it.
        Activity::Waits | Activity::UnderWay | Activity::Frozen => {
            let why = match keep_going(node, systemd)? {
                true => UNDER_WAY,
                false => ORPHANED,
            };
            Ok(Some(why.to_owned()))
        }
    }
}

/// If the image has no unit of its own for that, only the installer's unit restores the kubelet's
/// state, at the next boot.
fn owes(node: &Node, systemd: &dyn Systemd) -> Result<Option<String>, Failed> {
    if systemd.service(names::AGENT_UNIT)?.origin == Origin::Image {
        return Ok(None);
    }
    let (id, detail) = match snapshot::none_is_owed(&node.places) {
        Ok(()) => return Ok(None),
        Err(host::Error::Reason(Reason::StateOwed { id, detail, .. })) => (id, detail),
        Err(error) => return Err(error.into()),
    };
    let how = match keep_going(node, systemd)? {
        true => "fix the cause and reboot the node",
        false => "the program for that is missing, so install again and reboot the node",
    };
    Ok(Some(format!(
        "refused: the kubelet's state from before the trial of upgrade {id} is not restored yet: {detail}. It is kept in /sysroot/{}/snapshot-{id}, and only Careen restores it: {how}. Careen is removed after the state is restored, or after you remove that folder to give the state up",
        names::STATE_DIR
    )))
}

/// Starts the agent if necessary. A pod that was killed may have left it stopped, and then the
/// upgrade would never end. Returns whether there is an agent that can run.
fn keep_going(node: &Node, systemd: &dyn Systemd) -> Result<bool, Failed> {
    let agent = systemd.service(names::AGENT_UNIT)?;
    if !can_run(node, &agent) {
        return Ok(false);
    }
    match (agent.active, agent.origin) {
        (Active::Down, Origin::Image | Origin::Elsewhere) => systemd.start(names::AGENT_UNIT)?,
        (Active::Down, Origin::Nobody) | (Active::Running | Active::Changing, _) => {}
    }
    Ok(true)
}

/// Programs without units, or units without programs, are the remains of a pod that was killed or
/// of a person who emptied a folder.
fn is_gone(node: &Node) -> bool {
    !node.agents.folder().exists() && units::are_gone(node)
}

fn told(ready: bool, text: &str) -> Health {
    Health {
        ready,
        text: text.to_owned(),
    }
}

//! The uninstall: an operator has asked for it by a manifest of its own. A pod that is merely stopped or deleted never comes here.

use host::agents::Role;
use tracing::info;
use upgrade::{Standing, names};

use crate::act::{Failed, stop_unless_busy};
use crate::health::Health;
use crate::look::{can_run, standing};
use crate::node::Node;
use crate::systemd::{Active, Origin, Systemd};
use crate::units;

/// The end of it.
const GONE: &str = "Careen is removed from this node; this DaemonSet may go";

/// An upgrade goes first.
const UNDER_WAY: &str = "refused: an upgrade of this node is under way. It is removed when that has ended; to end it sooner, withdraw the request";

/// An upgrade would go first, and does not.
const ORPHANED: &str = "refused: an upgrade of this node is under way, and no agent is left to end it. Install once more, which brings one, and \
                        uninstall when the upgrade has ended";

/// Removes what a pod has installed, unless an upgrade is under way: half of one would be left without anybody to end it.
///
/// What belongs to the node stays: the record, the policy, and the image's own agent, which serves again.
///
/// # Errors
/// When something of it may be left; it can be done again.
pub fn remove(node: &Node, systemd: &dyn Systemd) -> Result<Health, Failed> {
    if is_gone(node) {
        return Ok(told(true, GONE));
    }
    match standing(node, systemd)? {
        Standing::Free => {}
        // Nobody would be left to end it.
        Standing::Waits | Standing::UnderWay | Standing::Frozen => {
            return Ok(told(false, keep_going(node, systemd)?));
        }
    }
    stop_unless_busy(node, systemd, Standing::Free)?;
    // Its program goes with us.
    systemd.stop(names::PLAN_UNIT)?;
    units::remove(node)?;
    node.agents.dismiss(Role::Wanted)?;
    node.agents.dismiss(Role::Proven)?;
    systemd.reload()?;
    if systemd.service(names::AGENT_UNIT)?.origin == Origin::Image {
        systemd.start(names::AGENT_UNIT)?;
    }
    // Last: until it is gone, it is seen that something is left to do.
    node.agents.remove()?;
    info!("removed");
    Ok(told(true, GONE))
}

/// A pod that was killed may have left the agent stopped, and then the upgrade would never end.
fn keep_going(node: &Node, systemd: &dyn Systemd) -> Result<&'static str, Failed> {
    let agent = systemd.service(names::AGENT_UNIT)?;
    if !can_run(node, &agent) {
        return Ok(ORPHANED);
    }
    match (agent.active, agent.origin) {
        (Active::Down, Origin::Image | Origin::Elsewhere) => systemd.start(names::AGENT_UNIT)?,
        (Active::Down, Origin::Nobody) | (Active::Running | Active::Changing, _) => {}
    }
    Ok(UNDER_WAY)
}

/// Programs without units, or units without programs, are what a pod that was killed has left, or a person who has emptied a folder.
fn is_gone(node: &Node) -> bool {
    !node.agents.folder().exists() && units::are_gone(node)
}

fn told(ready: bool, text: &str) -> Health {
    Health {
        ready,
        text: text.to_owned(),
    }
}

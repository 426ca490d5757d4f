//! A prepared host without a cluster: no Node, no pods and no kubelet. careen-host asks for the
//! image, and shows whether it reaches the management cluster.

use upgrade::{Api, Check, Membership, NodeView, Observation};

use crate::world::{Act, Do, Flaw, State};

/// Every flaw that such a host can have.
pub const FLAWS: [Flaw; 10] = [
    Flaw::None,
    Flaw::Panics,
    Flaw::NoKernel,
    Flaw::Hangs,
    Flaw::Tampered,
    Flaw::AgentDead,
    Flaw::UserCheck,
    Flaw::NoNetwork,
    Flaw::NodesOwn,
    Flaw::OtherBranch,
];

/// The observation on a host: what careen-host shows in place of a Node, and health without a
/// kubelet.
#[must_use]
pub fn seen(state: &State, mut seen: Observation) -> Observation {
    if !state.host {
        return seen;
    }
    let api = match seen.node.api {
        Api::Away => Api::Away,
        Api::Reached { since, .. } => Api::Reached {
            since,
            version: None,
        },
    };
    let reached = api != Api::Away;
    seen.node = NodeView {
        membership: Membership::Unjoined,
        request: seen.node.request,
        api,
        ..NodeView::default()
    };
    let health = &mut seen.turn.health;
    let ready = if reached {
        Check::Pass
    } else {
        Check::Pending("not yet".to_owned())
    };
    (health.kubelet, health.sandbox, health.kubeadm) = (Check::Pass, Check::Pass, Check::Pass);
    (health.ready, health.version) = (ready, Check::Pass);
    seen
}

/// Checks a decision on a host.
pub fn decided(state: &mut State, seen: &Observation, act: Act) {
    if !state.host {
        return;
    }
    match act {
        Act::Begin(
            Do::PreHooks | Do::Exclude | Do::Drain | Do::Rehearse | Do::Kubeadm | Do::Control(_),
        ) => state.breaks("a host without a cluster has no users to take it from"),
        Act::Begin(Do::Bless(_)) if seen.node.api == Api::Away && !state.running.reached => {
            state.breaks("a host that its owner cannot reach is not kept");
        }
        Act::Begin(_) | Act::Cancel | Act::Wait(_) => {}
    }
}

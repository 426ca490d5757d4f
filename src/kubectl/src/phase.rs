//! Descriptions of the phases.

use requests::PhaseName;

use crate::view::{NodeView, Ready};

/// What happens now, by the phase and by whether the kubelet reports. From the reboot on, nobody
/// writes to the Node for minutes.
#[must_use]
pub fn now(node: &NodeView) -> &'static str {
    let phase = node.reply.phase();
    let is_away = match node.ready {
        Ready::Yes => false,
        Ready::No(_) | Ready::Unknown(_) => true,
    };
    if !is_away {
        return meaning(phase);
    }
    if phase == PhaseName::Armed {
        "the node is away, in its trial: it boots the new system once, and reports when either system is up"
    } else if matches!(phase, PhaseName::Trial | PhaseName::Healthy) {
        "the node is in its trial, and its kubelet is not Ready"
    } else {
        meaning(phase)
    }
}

/// What happens in a phase.
#[must_use]
pub const fn meaning(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::Accepted => "the request is taken; the image is being fetched",
        PhaseName::Fetched => "the image is on the node and is being verified",
        PhaseName::Verified => "the image may run here and is being deployed",
        PhaseName::Deployed => "the new system is deployed; the node is being drained",
        PhaseName::Drained => "the pods are gone; the trial boot is being armed",
        PhaseName::Armed => "one trial boot is armed; the node is about to reboot",
        PhaseName::Trial => "the new system runs on trial and is being checked",
        PhaseName::Healthy => "the new system is healthy and is being made the default",
        PhaseName::Blessed => "the new system is the default; the node is being uncordoned",
        PhaseName::Upgraded => "the new system is proven and the default",
        PhaseName::Reverting => "on the way back to the old system",
        PhaseName::Failed => "the old system runs and takes pods",
        PhaseName::Halted => "nothing continues by itself: a person must look",
        PhaseName::Refused => "refused before anything was changed; the old system runs",
        PhaseName::Other => "a phase that this version of kubectl careen does not know",
    }
}

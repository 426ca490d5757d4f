//! The next action and the reported state: a pure function of the observed state.

use upgrade::Activity;
use upgrade::launch::STARTS;

use crate::health::Health;
use crate::look::Seen;
use crate::systemd::Active;

/// How long, in seconds, a new agent must have run without a break before it counts as running.
pub const PROBATION: u64 = upgrade::launch::LASTS;

/// One change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// No change.
    Nothing,
    /// Copy the pod's agent to the node, and start it in place of the running one.
    Install,
    /// Copy the pod's agent to a node that has no agent left to end its upgrade.
    Rescue,
    /// Restore the pod's agent where it was damaged on disk, and start it.
    Repair,
    /// Start the service, which is down.
    Start,
    /// The selected agent has proved that it runs.
    Prove,
    /// The selected agent does not start: leave it.
    GiveUp,
}

/// An action, and the state to report until it is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// The action.
    pub act: Act,
    /// The state.
    pub health: Health,
}

/// The next action.
#[must_use]
pub fn decide(seen: &Seen) -> Decision {
    if seen.given_up.as_ref() == Some(&seen.brought) {
        return left(seen);
    }
    if seen.wanted.as_ref() != Some(&seen.brought) || !seen.units_are_ours {
        return not_in_place(seen);
    }
    if !seen.is_whole {
        return damaged(seen);
    }
    if !seen.can_run {
        return not_in_place(seen);
    }
    match seen.service.active {
        Active::Down => down(),
        Active::Changing | Active::Running if is_on_probation(seen) => on_probation(seen),
        Active::Changing => waiting(Act::Nothing, "the agent is starting".to_owned()),
        Active::Running if seen.is_left() => left_in_this_boot(seen),
        Active::Running => well(seen),
    }
}

/// The agent ran under another image, or earlier. Nothing is changed: the former system, after a
/// fallback, and the next boot retry it.
fn left_in_this_boot(seen: &Seen) -> Decision {
    let text = format!(
        "{} ran on this node before but does not run in this boot, after several starts; {} serves instead. See its log above or in the node's journal. If this node's system is older than the one it was built on, build it on the older one; the next boot tries again",
        seen.brought,
        serves(seen),
    );
    waiting(Act::Nothing, text)
}

/// The pod's agent was tried and did not run. The previous agent keeps running, and a person must
/// see it.
fn left(seen: &Seen) -> Decision {
    let act = match seen.service.active {
        Active::Down => Act::Start,
        Active::Changing | Active::Running => Act::Nothing,
    };
    let text = format!(
        "{} was started {STARTS} times and did not run; {} serves instead. See its log above or in the node's journal, and give the DaemonSet another image",
        seen.brought,
        serves(seen),
    );
    waiting(act, text)
}

fn not_in_place(seen: &Seen) -> Decision {
    match seen.activity {
        Activity::Free => waiting(Act::Install, format!("installing {}", seen.brought)),
        Activity::Waits | Activity::UnderWay | Activity::Frozen if !seen.can_run => orphaned(seen),
        // The wait may last for days, and the rollout reaches no further node before this one is
        // done.
        Activity::Waits => waiting(Act::Install, beside_a_wait(seen)),
        Activity::UnderWay | Activity::Frozen => under_way(seen),
    }
}

fn beside_a_wait(seen: &Seen) -> String {
    format!(
        "installing {}; this node's upgrade waits for its window or the end of a pause, and then continues with it",
        seen.brought
    )
}

/// Somebody emptied the folder, or the disk damaged its content. Where there is no agent, none is
/// replaced, and without one the upgrade would never end.
fn orphaned(seen: &Seen) -> Decision {
    let text = format!(
        "an upgrade of this node is under way, and no agent is left to finish it; installing {}",
        seen.brought
    );
    waiting(Act::Rescue, text)
}

/// A pod that was killed may have left the agent stopped. Without an agent the upgrade would never
/// end.
fn under_way(seen: &Seen) -> Decision {
    let act = match seen.service.active {
        Active::Down => Act::Start,
        Active::Changing | Active::Running => Act::Nothing,
    };
    let text = format!(
        "an upgrade of this node is under way; {} is installed after it. Until then {} serves",
        seen.brought,
        serves(seen)
    );
    waiting(act, text)
}

/// If nothing runs, the agent is restored even during an upgrade: the bytes are those that were
/// there when the upgrade started.
fn damaged(seen: &Seen) -> Decision {
    match (seen.service.active, seen.activity) {
        (Active::Down | Active::Changing, _) => waiting(
            Act::Repair,
            format!("{} is damaged on the disk; copying it again", seen.brought),
        ),
        (Active::Running, Activity::Free | Activity::Waits) => waiting(
            Act::Install,
            format!(
                "{} is damaged on the disk; installing it again",
                seen.brought
            ),
        ),
        (Active::Running, Activity::UnderWay | Activity::Frozen) => under_way(seen),
    }
}

/// A start is safe at any time: an agent continues the record where the last one stopped.
fn down() -> Decision {
    waiting(
        Act::Start,
        "the agent is not running; starting it".to_owned(),
    )
}

fn is_on_probation(seen: &Seen) -> bool {
    seen.wanted != seen.proven
}

fn on_probation(seen: &Seen) -> Decision {
    let tried = seen.launched.as_ref().and_then(|last| last.tried.as_ref());
    let is_worn_out = tried
        .is_some_and(|tried| Some(&tried.id) == seen.wanted.as_ref() && tried.starts >= STARTS);
    if ran(seen, seen.brought.as_str()) {
        return soon(seen);
    }
    if is_worn_out && seen.activity < Activity::Frozen {
        return waiting(Act::GiveUp, format!("{} does not start", seen.brought));
    }
    match seen.service.active {
        // For images from before the launcher. The launcher's first action is to record what it
        // runs.
        Active::Running if seen.launched.is_none() => waiting(
            Act::Nothing,
            "this image is too old to update its agent: its unit starts the image's own agent, not the launcher. Upgrade the node to a newer image"
                .to_owned(),
        ),
        // The launcher has found that the image's own agent is newer.
        Active::Running => well(seen),
        Active::Changing | Active::Down => waiting(Act::Nothing, "the agent is starting".to_owned()),
    }
}

fn soon(seen: &Seen) -> Decision {
    let has_run = seen.service.active == Active::Running && seen.service.seconds >= PROBATION;
    match (has_run, seen.activity) {
        // Links must not change while frozen. The agent runs, and that is what readiness is about.
        (true, Activity::Frozen) => well(seen),
        (true, Activity::Free | Activity::Waits | Activity::UnderWay) => {
            waiting(Act::Prove, format!("{} runs", seen.brought))
        }
        (false, _) => waiting(Act::Nothing, started(seen.brought.as_str())),
    }
}

fn started(who: &str) -> String {
    format!("{who} has started and must run for {PROBATION} s to be accepted")
}

/// An agent that ends again and again runs for moments in between, but is not healthy.
fn well(seen: &Seen) -> Decision {
    if seen.service.seconds < PROBATION {
        return waiting(Act::Nothing, started(&serves(seen)));
    }
    let status = match seen.service.status.as_str() {
        "" => String::new(),
        said => format!(": {said}"),
    };
    Decision {
        act: Act::Nothing,
        health: Health {
            ready: true,
            text: format!("{} runs{}{status}", serves(seen), in_place_of(seen)),
        },
    }
}

/// An update that changes nothing must not look like one that does.
fn in_place_of(seen: &Seen) -> String {
    if !seen.image_goes_first {
        return String::new();
    }
    format!(
        "; this pod's {} does not, because it is not newer",
        seen.brought
    )
}

fn waiting(act: Act, text: String) -> Decision {
    Decision {
        act,
        health: Health { ready: false, text },
    }
}

fn ran(seen: &Seen, id: &str) -> bool {
    let last = seen.launched.as_ref().and_then(|last| last.ran.as_ref());
    last.is_some_and(|ran| ran.as_str() == id)
}

fn serves(seen: &Seen) -> String {
    match &seen.launched {
        Some(last) => match &last.ran {
            Some(id) => id.to_string(),
            None => format!("the image's own agent, {},", last.release),
        },
        None => "the former agent".to_owned(),
    }
}

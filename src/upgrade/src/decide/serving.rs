//! The new system on trial against the old one before the drain: does the node serve as it did?

use super::situation::Situation;
use crate::id::SinceBoot;
use crate::observe::Cause;
use crate::policy::Demand;
use crate::reason::{Reason, cut};
use crate::record::Upgrade;
use crate::serving::{Lack, absent, failed, inactive, lacks, shrunk, unset, unsupported};

/// How many differences a sentence names.
const NAMED: usize = 3;

/// What the new system lacks.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Less {
    /// What is missing, for a person.
    missing: String,
    /// Where the cause is.
    cause: Cause,
}

/// How the new system compares with the old one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Compared {
    /// Units that fail, and what the system lacks. Needs no API server.
    pub(super) units: Option<Less>,
    /// What the Node lacks. Needs the API server.
    pub(super) node: Option<Less>,
    /// Differences that decide nothing.
    pub(super) warned: Vec<String>,
}

impl Less {
    /// The reason, if it stays so.
    pub(super) fn reason(&self, seconds: u64) -> Reason {
        Reason::ServesLess {
            missing: self.missing.clone(),
            cause: self.cause,
            seconds,
        }
    }
}

/// The comparison. A record without a note of the old system, as a released agent writes it, is
/// compared with nothing, and neither is a machine that was never in a cluster.
pub(super) fn compared(up: &Upgrade, s: &Situation<'_>) -> Compared {
    if !s.joined {
        return Compared::default();
    }
    let (units, of_units) = units(up, s);
    let (node, of_node) = node(up, s);
    let warned = of_units.into_iter().chain(of_node).map(|lack| lack.what);
    Compared {
        units,
        node,
        warned: warned.collect(),
    }
}

fn units(up: &Upgrade, s: &Situation<'_>) -> (Option<Less>, Vec<Lack>) {
    let Some(before) = up.served.units.as_ref() else {
        return (None, Vec::new());
    };
    let rated = s.policy.serving.units;
    let Some(now) = s.seen.turn.serving.units.as_ref() else {
        return (unknown("systemd's units", rated), Vec::new());
    };
    let fresh = failed(before, now, &s.policy.serving).into_iter();
    let system = s.seen.turn.serving.system.as_ref();
    let system = absent(up.served.system.as_ref(), system, &s.policy.serving);
    let settings = s.seen.turn.serving.settings.as_ref();
    let settings = unset(up.served.settings.as_ref(), settings, &s.policy.serving);
    let limits = s.seen.turn.serving.limits.as_ref();
    let limits = shrunk(up.served.limits.as_ref(), limits, &s.policy.serving);
    let kernel = s.seen.turn.serving.kernel.as_ref();
    let kernel = unsupported(up.served.kernel.as_ref(), kernel, &s.policy.serving);
    let all = fresh
        .chain(inactive(before, now, &s.policy.serving))
        .chain(system)
        .chain(settings)
        .chain(limits)
        .chain(kernel);
    let all = all.filter(|(_, lack)| !s.policy.serving.excepts(&lack.key));
    sorted(all.collect())
}

fn node(up: &Upgrade, s: &Situation<'_>) -> (Option<Less>, Vec<Lack>) {
    let Some(before) = up.served.node.as_ref() else {
        return (None, Vec::new());
    };
    match s.seen.turn.serving.node.as_ref() {
        Some(now) => {
            let all = lacks(before, now, &s.policy.serving).into_iter();
            let all = all.map(|(rated, lack)| (so_far(rated, &lack, s), blamed(lack, s)));
            sorted(all.collect())
        }
        None => (
            unknown("the Node and its pods", Demand::Require),
            Vec::new(),
        ),
    }
}

/// A pod that the API server does not have on this node is its controller's or a person's doing,
/// and the kubelet starts every pod that it is told of. Until the deadline the controller may still
/// create it, so the trial waits.
fn so_far(rated: Demand, lack: &Lack, s: &Situation<'_>) -> Demand {
    let deadline = SinceBoot(0).plus_seconds(s.policy.health.deadline_seconds);
    if lack.may_come && s.seen.turn.now >= deadline {
        rated.at_most_warn()
    } else {
        rated
    }
}

/// The runtime cannot start a container of a pod. If it runs with a configuration of this node's
/// own (a handler of a GPU or of a sandbox, another `runc`), that is no evidence against the image.
fn blamed(mut lack: Lack, s: &Situation<'_>) -> Lack {
    let runtime = s.seen.turn.health.causes.runtime;
    if lack.cause.is_image() && lack.key.starts_with("pod:") && runtime == Cause::Node {
        lack.cause = Cause::Node;
    }
    lack
}

/// What is not known yet is not bad, and nothing to blame an image for.
fn unknown(of: &str, rated: Demand) -> Option<Less> {
    (rated == Demand::Require).then(|| Less {
        missing: format!("the agent does not know the state of {of} yet"),
        cause: Cause::Unclear,
    })
}

/// What fails the trial, and what does not.
fn sorted(all: Vec<(Demand, Lack)>) -> (Option<Less>, Vec<Lack>) {
    let (required, others): (Vec<_>, Vec<_>) = all
        .into_iter()
        .partition(|(rated, _)| *rated == Demand::Require);
    let warned = others
        .into_iter()
        .filter(|(rated, _)| *rated == Demand::Warn);
    let required: Vec<_> = required.into_iter().map(|(_, lack)| lack).collect();
    let warned: Vec<_> = warned.map(|(_, lack)| lack).collect();
    (less(&required, &warned), warned)
}

/// The image is to blame only if it alone explains each difference, also those that only warn: the
/// pod of a device plugin that is gone explains why its resource is. The sentence begins with the
/// difference that decides whom to blame.
fn less(lacks: &[Lack], warned: &[Lack]) -> Option<Less> {
    if lacks.is_empty() {
        return None;
    }
    let (others, images): (Vec<_>, Vec<_>) = lacks.iter().partition(|lack| !lack.cause.is_image());
    let elsewhere = others.first().copied();
    let elsewhere = elsewhere.or_else(|| warned.iter().find(|lack| !lack.cause.is_image()));
    let named: Vec<_> = others
        .iter()
        .chain(&images)
        .take(NAMED)
        .map(|lack| cut(&lack.what))
        .collect();
    let more = match lacks.len().saturating_sub(NAMED) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    Some(Less {
        missing: named.join("; ") + &more,
        cause: elsewhere.map_or(Cause::Image, |lack| lack.cause),
    })
}

//! The verdict on a trial. "Could not check" is not "bad"; only checks that need the API server may
//! wait for it.

use super::serving::{Compared, Less};
use crate::id::SinceBoot;
use crate::observe::{Api, Check, Health, Observation};
use crate::policy::{self, Policy};
use crate::reason::Reason;

/// The verdict.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Healthy,
    /// Not yet known. `hold`: the usual deadline is over and only the API server is waited for.
    Wait {
        until: SinceBoot,
        hold: bool,
    },
    /// The API server was not reached; everything else is well. The reason blames the image where
    /// this node has no network.
    ApiAway(Reason),
    Bad(Reason),
}

/// What this trial has shown so far.
#[derive(Clone, Copy)]
pub(super) struct SoFar {
    /// In this boot all local checks have passed at once, and only the API server was still waited
    /// for.
    pub(super) held: bool,
    /// All checks have passed, none has failed since, and until then it is watched.
    pub(super) soaks_until: Option<SinceBoot>,
    /// The local checks are enough where the API server is away.
    pub(super) alone: bool,
}

/// The verdict, by what is seen now and what was seen before. A system that was well and soaks has
/// shown what it had its time for: what cannot be looked at meanwhile, for the API server blinks or
/// the agent has only just started, is asked for at the soak's end.
pub(super) fn judge(
    seen: &Observation,
    policy: &Policy,
    so_far: SoFar,
    compared: &Compared,
) -> Judgement {
    let health = &seen.turn.health;
    if let Some(reason) = broken(health, seen.turn.now) {
        return Judgement::Bad(reason);
    }
    let SoFar {
        held,
        soaks_until,
        alone,
    } = so_far;
    let limits = &policy.health;
    let deadline = soaks_until.unwrap_or_default().max(usual(limits));
    let of_this_machine = first_open(local(health)).or_else(|| less(compared.units.as_ref()));
    let of_the_server = first_open(remote(health)).or_else(|| less(compared.node.as_ref()));
    match (of_this_machine, of_the_server) {
        (None, None) => Judgement::Healthy,
        (Some(_), _) if is_locked_out(seen) => locked_out(seen, limits, deadline),
        (Some(_), _) if seen.turn.now < deadline => Judgement::Wait {
            until: deadline,
            hold: deadline > usual(limits),
        },
        // kubeadm, which waits for the API server, restarts a kubelet that was well: it has the
        // time that the server leaves it.
        (Some(open), _) if held => wait_or_bad(&open, seen, limits, deadline),
        (Some(open), _) => Judgement::Bad(unhealthy(&open, seen.turn.now)),
        (None, Some(open)) => away_or_late(&open, seen, limits, (deadline, alone)),
    }
}

/// The trial's own time, without an API server to blame and without a soak.
fn usual(limits: &policy::Health) -> SinceBoot {
    SinceBoot(0).plus_seconds(limits.deadline_seconds)
}

/// A kubelet whose certificate ran out does not even start (kubernetes,
/// pkg/kubelet/certificate/bootstrap/bootstrap.go), whichever system it is of: nothing is learned
/// of the new one before the clock or the credential is put right.
fn is_locked_out(seen: &Observation) -> bool {
    let health = &seen.turn.health;
    let kubelet_is_all = health.runtime == Check::Pass && health.kubelet != Check::Pass;
    seen.node.api == Api::Away && kubelet_is_all && matches!(health.credential, Check::Fail(_))
}

/// As an API server that is away, from the first moment on: whenever it is put right, the kubelet
/// has its full time.
fn locked_out(seen: &Observation, limits: &policy::Health, deadline: SinceBoot) -> Judgement {
    let until = patience(seen, limits, deadline);
    if seen.turn.now < until {
        return Judgement::Wait { until, hold: true };
    }
    Judgement::ApiAway(away(seen))
}

/// All local checks pass, one that needs the API server does not.
fn away_or_late(
    open: &Open<'_>,
    seen: &Observation,
    limits: &policy::Health,
    (deadline, alone): (SinceBoot, bool),
) -> Judgement {
    match seen.node.api {
        // Away is also the agent that has just started, and a server that blinks: until the
        // deadline it may yet speak.
        Api::Away if seen.turn.now < deadline => Judgement::Wait {
            until: deadline,
            hold: deadline > usual(limits),
        },
        Api::Away if alone && seen.turn.network.is_ok() => Judgement::Healthy,
        Api::Away if seen.turn.now >= patience(seen, limits, deadline) => {
            Judgement::ApiAway(away(seen))
        }
        Api::Away | Api::Reached { .. } => wait_or_bad(open, seen, limits, deadline),
    }
}

/// A node without a network says nothing of the API server. The old system, which does not lack
/// one, is asked before the image is blamed.
const fn away(seen: &Observation) -> Reason {
    match seen.turn.network {
        Ok(()) => Reason::ApiAwayInTrial {
            seconds: seen.turn.now.0 / 1000,
        },
        Err(_) => Reason::NoApiFromNewSystem,
    }
}

fn wait_or_bad(
    open: &Open<'_>,
    seen: &Observation,
    limits: &policy::Health,
    deadline: SinceBoot,
) -> Judgement {
    let until = patience(seen, limits, deadline);
    if seen.turn.now < until {
        return Judgement::Wait {
            until,
            hold: until > usual(limits),
        };
    }
    Judgement::Bad(unhealthy(open, seen.turn.now))
}

/// When the node's time is over where the API server is to blame for part of it.
fn patience(seen: &Observation, limits: &policy::Health, deadline: SinceBoot) -> SinceBoot {
    let hold = deadline.plus_seconds(limits.api_away_hold_seconds);
    match seen.node.api {
        Api::Away => hold,
        // A server that came late leaves the node its full time to become Ready, once: a flapping
        // one does not.
        Api::Reached { since, .. } => since
            .plus_seconds(limits.deadline_seconds)
            .max(deadline)
            .min(hold.plus_seconds(limits.deadline_seconds)),
    }
}

/// What does not pass.
enum Open<'a> {
    /// A check.
    Check {
        /// Its name.
        check: String,
        /// Why.
        detail: String,
    },
    /// The comparison with the old system.
    Less(&'a Less),
}

type Named<'a> = (&'a str, &'a Check);

fn local(health: &Health) -> impl Iterator<Item = Named<'_>> {
    let own = [
        ("container runtime", &health.runtime),
        ("kubelet", &health.kubelet),
    ];
    own.into_iter().chain(
        health
            .required
            .iter()
            .map(|(name, check)| (name.as_str(), check)),
    )
}

fn remote(health: &Health) -> impl Iterator<Item = Named<'_>> {
    [
        ("kubeadm upgrade node", &health.kubeadm),
        ("Node Ready", &health.ready),
        ("kubelet version", &health.version),
    ]
    .into_iter()
}

fn less(less: Option<&Less>) -> Option<Open<'_>> {
    less.map(Open::Less)
}

fn first_open<'a>(mut checks: impl Iterator<Item = Named<'a>>) -> Option<Open<'static>> {
    checks.find_map(|(name, check)| match check {
        Check::Pass => None,
        Check::Pending(detail) | Check::Fail(detail) | Check::Broken(detail) => Some(Open::Check {
            check: name.to_owned(),
            detail: detail.clone(),
        }),
    })
}

fn unhealthy(open: &Open<'_>, now: SinceBoot) -> Reason {
    let seconds = now.0 / 1000;
    match open {
        Open::Check { check, detail } => Reason::Unhealthy {
            check: check.clone(),
            detail: detail.clone(),
            seconds,
        },
        Open::Less(less) => less.reason(seconds),
    }
}

/// A check that is not going to hold ends the trial before its deadline.
fn broken(health: &Health, now: SinceBoot) -> Option<Reason> {
    let user = health
        .required
        .iter()
        .find_map(|(name, check)| match check {
            Check::Broken(detail) => Some(Reason::UserCheck {
                name: name.clone(),
                detail: detail.clone(),
            }),
            Check::Pass | Check::Pending(_) | Check::Fail(_) => None,
        });
    user.or_else(|| {
        local(health)
            .chain(remote(health))
            .find_map(|(name, check)| match check {
                Check::Broken(detail) => Some(unhealthy(
                    &Open::Check {
                        check: name.to_owned(),
                        detail: detail.clone(),
                    },
                    now,
                )),
                Check::Pass | Check::Pending(_) | Check::Fail(_) => None,
            })
    })
}

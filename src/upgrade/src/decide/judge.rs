//! The verdict on a trial. "Could not check" is not "bad"; only checks that need the API server may
//! wait for it.

use super::serving::{Compared, Less};
use crate::id::SinceBoot;
use crate::observe::{Api, Cause, Check, Health, Observation};
use crate::policy::{self, Policy};
use crate::reason::{Reason, bare};

/// Names of checks that other words of a verdict repeat.
const KUBELET: &str = "kubelet";
const KUBEADM: &str = "kubeadm upgrade node";

/// The verdict.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Judgement {
    Healthy,
    /// Not yet known. `hold`: the usual deadline is over and only the API server is waited for.
    Wait {
        until: SinceBoot,
        hold: bool,
    },
    /// The API server is away; everything else is well. `again` is the verdict where the old system
    /// has reached the server since an earlier such trial, if this trial shows one.
    ApiAway {
        again: Option<Reason>,
    },
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
    let (units, waiting) = units(seen, compared);
    let of_this_machine = first_open(local(health)).or_else(|| less(units));
    let of_the_server = first_open(remote(health)).or_else(|| less(compared.node.as_ref()));
    match (of_this_machine, of_the_server.or_else(|| less(waiting))) {
        (None, None) => Judgement::Healthy,
        (Some(_), _) if is_locked_out(seen) => locked_out(seen, limits, deadline),
        (Some(_), _) if is_unconfigured(health) => unconfigured(seen, limits, deadline),
        (Some(_), _) if seen.turn.now < deadline => Judgement::Wait {
            until: deadline,
            hold: deadline > usual(limits),
        },
        // kubeadm, which waits for the API server, restarts a kubelet that was well: it has the
        // time that the server leaves it.
        (Some(open), _) if held => wait_or_bad(&open, seen, limits, deadline),
        (Some(open), _) => Judgement::Bad(late(&open, seen, &usual_limit(limits, deadline))),
        (None, Some(open)) => away_or_late(&open, seen, limits, (deadline, alone)),
    }
}

/// The units that the new system lacks, in two parts: those that fail by themselves, and those that
/// may fail because the system has no network, as `systemd-networkd-wait-online` does. The network
/// is then the reason to name.
fn units<'a>(seen: &Observation, compared: &'a Compared) -> (Option<&'a Less>, Option<&'a Less>) {
    let units = compared.units.as_ref();
    if seen.node.api == Api::Away && seen.turn.network.is_err() {
        return (None, units);
    }
    (units, None)
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
    seen.node.api == Api::Away
        && lacks_only_the_kubelet(health)
        && matches!(health.credential, Check::Fail(_))
}

fn lacks_only_the_kubelet(health: &Health) -> bool {
    health.runtime == Check::Pass && health.kubelet != Check::Pass
}

/// A kubelet that runs on the configuration of the old one. Only `kubeadm upgrade node` takes out
/// what the new kubelet refuses (kubernetes issue 133779: `--pod-infra-container-image`), and that
/// needs the API server. Until kubeadm has succeeded, such a kubelet says nothing of the image.
fn is_unconfigured(health: &Health) -> bool {
    lacks_only_the_kubelet(health) && health.kubeadm != Check::Pass
}

/// kubeadm has the time that the API server leaves it, and then the kubelet its own.
fn unconfigured(seen: &Observation, limits: &policy::Health, deadline: SinceBoot) -> Judgement {
    let until = patience(seen, limits, deadline);
    if seen.turn.now < until {
        let hold = until > usual(limits);
        return Judgement::Wait { until, hold };
    }
    let reason = unhealthy(&without_kubeadm(seen), seen.turn.now);
    match seen.node.api {
        Api::Away => Judgement::ApiAway {
            again: Some(reason),
        },
        Api::Reached { .. } => Judgement::Bad(reason),
    }
}

/// The kubelet that does not run, and why kubeadm has not given it its configuration. Where the
/// server was away, for instance because only a static pod of this kubelet leads to it, kubeadm
/// itself shows nothing.
fn without_kubeadm(seen: &Observation) -> Open<'static> {
    let health = &seen.turn.health;
    let detail = |check: &Check| match check {
        Check::Pass => String::new(),
        Check::Pending(detail) | Check::Fail(detail) | Check::Broken(detail) => detail.clone(),
    };
    let cause = match (&seen.node.api, &health.kubeadm) {
        (Api::Away, _) => Cause::ApiServer,
        (Api::Reached { .. }, Check::Fail(_) | Check::Broken(_)) => health.causes.kubeadm,
        (Api::Reached { .. }, Check::Pass | Check::Pending(_)) => Cause::Unclear,
    };
    Open::Check {
        check: KUBELET.to_owned(),
        detail: format!(
            "{}; it runs on the old configuration, for {KUBEADM} has not succeeded: {}",
            detail(&health.kubelet),
            detail(&health.kubeadm)
        ),
        cause,
    }
}

/// As an API server that is away, from the first moment on: whenever it is put right, the kubelet
/// has its full time.
fn locked_out(seen: &Observation, limits: &policy::Health, deadline: SinceBoot) -> Judgement {
    let until = patience(seen, limits, deadline);
    if seen.turn.now < until {
        return Judgement::Wait { until, hold: true };
    }
    Judgement::ApiAway { again: None }
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
            Judgement::ApiAway { again: None }
        }
        Api::Away | Api::Reached { .. } => wait_or_bad(open, seen, limits, deadline),
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
    Judgement::Bad(late(open, seen, &patient_limit(seen, limits, deadline)))
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

/// Which limit is over when the trial's time is, for a person.
fn usual_limit(limits: &policy::Health, deadline: SinceBoot) -> String {
    if deadline > usual(limits) {
        return format!("its soak ended at second {}", deadline.0 / 1000);
    }
    format!("health.deadline-seconds = {}", limits.deadline_seconds)
}

/// The same where the API server is to blame for part of the time.
fn patient_limit(seen: &Observation, limits: &policy::Health, deadline: SinceBoot) -> String {
    let usual = usual_limit(limits, deadline);
    match seen.node.api {
        Api::Away => {
            let hold = limits.api_away_hold_seconds;
            format!("{usual}, and health.api-away-hold-seconds = {hold} after that")
        }
        Api::Reached { since, .. } if patience(seen, limits, deadline) > deadline => {
            let (limit, since) = (limits.deadline_seconds, since.0 / 1000);
            format!(
                "health.deadline-seconds = {limit}, counted from second {since}, when the API server was first reached"
            )
        }
        Api::Reached { .. } => usual,
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
        /// Where the cause is.
        cause: Cause,
    },
    /// The comparison with the old system.
    Less(&'a Less),
}

/// A check, and where its cause is if it does not pass.
struct Named<'a> {
    name: &'a str,
    check: &'a Check,
    cause: Cause,
}

const fn named<'a>(name: &'a str, check: &'a Check, cause: Cause) -> Named<'a> {
    Named { name, check, cause }
}

/// A sandbox that does not start may lack only an image that a registry does not deliver now.
fn local(health: &Health) -> impl Iterator<Item = Named<'_>> {
    let causes = &health.causes;
    let own = [
        named("container runtime", &health.runtime, causes.runtime),
        named(KUBELET, &health.kubelet, causes.kubelet),
        named("pod sandbox", &health.sandbox, Cause::Unclear),
    ];
    own.into_iter().chain(required(health))
}

fn required(health: &Health) -> impl Iterator<Item = Named<'_>> {
    let all = health.required.iter().enumerate();
    all.map(|(place, (name, check))| named(name, check, health.required_cause(place)))
}

/// Another kubelet than the image's is the node's own where the node's own files start it. A
/// kubelet that runs and reports the node as not Ready mostly waits for a network, which a pod
/// brings: its image may come from a registry, and its settings from the API server.
fn remote(health: &Health) -> impl Iterator<Item = Named<'_>> {
    let causes = &health.causes;
    [
        named(KUBEADM, &health.kubeadm, causes.kubeadm),
        named("Node Ready", &health.ready, Cause::Unclear),
        named(
            "kubelet version",
            &health.version,
            of_the_version(causes.kubelet),
        ),
        named("pod network", &health.pod_network, Cause::Unclear),
    ]
    .into_iter()
}

/// An image says which kubelet it brings. Another one is the node's if the node's files start it.
const fn of_the_version(kubelet: Cause) -> Cause {
    match kubelet {
        Cause::Node => Cause::Node,
        Cause::Image | Cause::ApiServer | Cause::Neighbour | Cause::Unclear => Cause::Image,
    }
}

fn less(less: Option<&Less>) -> Option<Open<'_>> {
    less.map(Open::Less)
}

/// The first check that does not pass. One that could not be made shows no cause.
fn first_open<'a>(mut checks: impl Iterator<Item = Named<'a>>) -> Option<Open<'static>> {
    checks.find_map(|Named { name, check, cause }| {
        let (detail, cause) = match check {
            Check::Pass => return None,
            Check::Pending(detail) => (detail, Cause::Unclear),
            Check::Fail(detail) | Check::Broken(detail) => (detail, cause),
        };
        Some(Open::Check {
            check: name.to_owned(),
            detail: detail.clone(),
            cause,
        })
    })
}

/// What did not pass in time. The policy has several limits, so the reason of a check says which
/// one it was.
fn late(open: &Open<'_>, seen: &Observation, limit: &str) -> Reason {
    let mut reason = unhealthy(open, seen.turn.now);
    if let Reason::Unhealthy { detail, .. } = &mut reason {
        *detail = format!("{} (the limit: {limit})", bare(detail));
    }
    reason
}

fn unhealthy(open: &Open<'_>, now: SinceBoot) -> Reason {
    let seconds = now.0 / 1000;
    match open {
        Open::Check {
            check,
            detail,
            cause,
        } => Reason::Unhealthy {
            check: check.clone(),
            detail: detail.clone(),
            seconds,
            cause: *cause,
        },
        Open::Less(less) => less.reason(seconds),
    }
}

/// A check that is not going to hold ends the trial before its deadline.
fn broken(health: &Health, now: SinceBoot) -> Option<Reason> {
    let user = required(health).find_map(|Named { name, check, cause }| match check {
        Check::Broken(detail) => Some(Reason::UserCheck {
            name: name.to_owned(),
            detail: detail.clone(),
            cause,
        }),
        Check::Pass | Check::Pending(_) | Check::Fail(_) => None,
    });
    user.or_else(|| {
        let is_broken = |named: &Named<'_>| matches!(named.check, Check::Broken(_));
        let open = first_open(local(health).chain(remote(health)).filter(is_broken))?;
        Some(unhealthy(&open, now))
    })
}

//! Each metric's values: pure functions of the record and the observation.

use std::collections::BTreeMap;

use upgrade::bill::{Now, Stopwatch};
use upgrade::counters::{ByReason, Tally};
use upgrade::policy::in_force;
use upgrade::record::Reached;
use upgrade::window::Door;
use upgrade::{Digest, Phase, Record, Report, Upgrade, report};

use super::shown::Shown;

/// One value, with the values of the metric's labels in their order.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The labels' values.
    pub labels: Vec<String>,
    /// The value.
    pub value: f64,
}

/// What the Node shows in addition to the phases themselves.
const OTHER_PHASES: [&str; 2] = ["Idle", "Refused"];

fn one(value: f64) -> Vec<Sample> {
    labelled([], value)
}

pub(super) fn flag(value: bool) -> Vec<Sample> {
    one(if value { 1.0 } else { 0.0 })
}

fn labelled<const N: usize>(labels: [&str; N], value: f64) -> Vec<Sample> {
    vec![sample(labels, value)]
}

fn sample<const N: usize>(labels: [&str; N], value: f64) -> Sample {
    let labels = labels.map(str::to_owned).to_vec();
    Sample { labels, value }
}

/// Exact up to 2^53. Seconds, bytes and counts stay below that.
fn number(value: u64) -> f64 {
    value as f64
}

fn count(length: usize) -> Vec<Sample> {
    one(number(length as u64))
}

impl Shown {
    fn record(&self) -> Option<&Record> {
        self.read.as_ref().ok()
    }

    fn upgrade(&self) -> Option<&Upgrade> {
        self.record()?.upgrade.as_ref()
    }

    fn report(&self) -> Option<Report> {
        report(&self.read, &self.seen, None)
    }

    fn watch(&self, which: impl Fn(&Upgrade) -> &Stopwatch) -> Vec<Sample> {
        let now = Now::from(&self.seen);
        self.upgrade()
            .map_or_else(Vec::new, |up| one(number(which(up).shows(now))))
    }

    /// Seconds of a wait that still lasts.
    fn waits_since(&self, up: &Upgrade) -> u64 {
        let watch = &up.bill.waiting;
        let all = watch.shows(Now::from(&self.seen));
        all.saturating_sub(watch.seconds)
    }
}

pub(super) fn build(_: &Shown) -> Vec<Sample> {
    this_build()
}

pub(super) fn this_build() -> Vec<Sample> {
    labelled([upgrade::release::THIS], 1.0)
}

pub(super) fn api_reached(shown: &Shown) -> Vec<Sample> {
    shown.link.map_or_else(Vec::new, |link| flag(link.reached))
}

pub(super) fn paused(shown: &Shown) -> Vec<Sample> {
    shown.link.map_or_else(Vec::new, |link| flag(link.paused))
}

pub(super) fn policy(shown: &Shown) -> Vec<Sample> {
    flag(shown.policy.is_ok())
}

fn door(shown: &Shown) -> Door {
    let turn = &shown.seen.turn;
    let policy = in_force(&shown.policy);
    policy.window.by_the_clock(turn.wall, turn.clock_set)
}

pub(super) fn window_open(shown: &Shown) -> Vec<Sample> {
    flag(matches!(door(shown), Door::Open { .. }))
}

pub(super) fn window_changes(shown: &Shown) -> Vec<Sample> {
    let (Door::Open { until: at } | Door::Closed { opens: at }) = door(shown);
    at.map_or_else(Vec::new, |at| one(number(at)))
}

pub(super) fn trouble(shown: &Shown) -> Vec<Sample> {
    flag(shown.trouble)
}

pub(super) fn phase(shown: &Shown) -> Vec<Sample> {
    let shows = shown
        .report()
        .map_or_else(|| "Idle".to_owned(), |report| report.status.phase);
    let all = OTHER_PHASES.into_iter().chain(Phase::NAMES);
    all.map(|name| sample([name], if name == shows { 1.0 } else { 0.0 }))
        .collect()
}

pub(super) fn reason(shown: &Shown) -> Vec<Sample> {
    let code = shown.report().and_then(|report| report.status.code);
    code.map_or_else(Vec::new, |code| labelled([&code], 1.0))
}

pub(super) fn is_cordoned(shown: &Shown) -> Vec<Sample> {
    let cordoned = |up: &Upgrade| up.bill.cordoned.since.is_some();
    shown.record().map_or_else(Vec::new, |record| {
        flag(record.upgrade.as_ref().is_some_and(cordoned))
    })
}

pub(super) fn upgrade(shown: &Shown) -> Vec<Sample> {
    let Some(up) = shown.upgrade() else {
        return Vec::new();
    };
    let info = up.facts.as_ref().and_then(|facts| facts.info.as_ref());
    let kubernetes = info.map_or_else(String::new, |info| info.kubernetes.to_string());
    let to = up.commit().map_or("", Digest::short);
    labelled(
        [up.id.as_str(), up.from.digest.short(), to, &kubernetes],
        1.0,
    )
}

pub(super) fn progress(shown: &Shown) -> Vec<Sample> {
    let percent = shown.report().map(|report| report.status.percent);
    percent.map_or_else(Vec::new, |percent| one(f64::from(percent) / 100.0))
}

pub(super) fn trial_boots(shown: &Shown) -> Vec<Sample> {
    shown
        .upgrade()
        .map_or_else(Vec::new, |up| one(up.attempt.tries.into()))
}

pub(super) fn step_tries(shown: &Shown) -> Vec<Sample> {
    let retry = shown.upgrade().and_then(|up| up.retry.as_ref());
    retry.map_or_else(Vec::new, |retry| {
        labelled([retry.step.name()], retry.tries.into())
    })
}

/// One value for each phase that the upgrade has reached, in the order of the phases.
fn by_phase(found: &BTreeMap<&str, u64>) -> Vec<Sample> {
    let known = Phase::NAMES
        .iter()
        .filter_map(|name| Some((name, found.get(name)?)));
    known
        .map(|(name, value)| sample([name], number(*value)))
        .collect()
}

pub(super) fn reached(shown: &Shown) -> Vec<Sample> {
    let reached = shown
        .upgrade()
        .map_or(&[] as &[Reached], |up| up.reached.as_slice());
    by_phase(
        &reached
            .iter()
            .map(|one| (one.phase.as_str(), one.at))
            .collect(),
    )
}

pub(super) fn durations(shown: &Shown) -> Vec<Sample> {
    let Some(up) = shown.upgrade() else {
        return Vec::new();
    };
    let mut sums = BTreeMap::new();
    for (phase, seconds) in visits(shown, up) {
        *sums.entry(phase).or_default() += seconds;
    }
    by_phase(&sums)
}

/// Each visit to a phase, with the seconds of work in it.
fn visits<'a>(shown: &Shown, up: &'a Upgrade) -> impl Iterator<Item = (&'a str, u64)> {
    // A finished upgrade takes no more time, and a waiting one does not work.
    let until = shown.seen.turn.wall.saturating_sub(shown.waits_since(up));
    let open = (!up.phase.is_end()).then_some(until);
    let ends = up.reached.iter().skip(1).map(|next| next.at).chain(open);
    up.reached.iter().zip(ends).map(|(begin, end)| {
        let lasted = end.saturating_sub(begin.at);
        (begin.phase.as_str(), lasted.saturating_sub(begin.waited))
    })
}

pub(super) fn working(shown: &Shown) -> Vec<Sample> {
    let seconds = |up: &Upgrade| -> u64 { visits(shown, up).map(|(_, seconds)| seconds).sum() };
    shown
        .upgrade()
        .map_or_else(Vec::new, |up| one(number(seconds(up))))
}

pub(super) fn waiting(shown: &Shown) -> Vec<Sample> {
    shown.watch(|up| &up.bill.waiting)
}

pub(super) fn cordoned(shown: &Shown) -> Vec<Sample> {
    shown.watch(|up| &up.bill.cordoned)
}

pub(super) fn drained(shown: &Shown) -> Vec<Sample> {
    shown.watch(|up| &up.bill.drained)
}

pub(super) fn not_ready(shown: &Shown) -> Vec<Sample> {
    shown.watch(|up| &up.bill.not_ready)
}

pub(super) fn requests(shown: &Shown) -> Vec<Sample> {
    let Some(Record { tally, .. }) = shown.record() else {
        return Vec::new();
    };
    let Tally {
        fell_back,
        failed,
        refused,
        halted,
        ..
    } = tally;
    let upgraded = sample(["upgraded", ""], number(tally.upgraded));
    let others = [
        ("fell_back", fell_back),
        ("failed", failed),
        ("refused", refused),
        ("halted", halted),
    ];
    let others = others
        .into_iter()
        .flat_map(|(outcome, by)| ended(outcome, by));
    std::iter::once(upgraded).chain(others).collect()
}

fn ended<'a>(outcome: &'a str, by: &'a ByReason) -> impl Iterator<Item = Sample> + 'a {
    by.iter()
        .map(move |(reason, times)| sample([outcome, reason], number(*times)))
}

pub(super) fn all_trial_boots(shown: &Shown) -> Vec<Sample> {
    shown
        .record()
        .map_or_else(Vec::new, |record| one(number(record.tally.trial_boots)))
}

pub(super) fn deployments(shown: &Shown) -> Vec<Sample> {
    count(shown.seen.machine.deployments.len())
}

pub(super) fn bad_images(shown: &Shown) -> Vec<Sample> {
    shown
        .record()
        .map_or_else(Vec::new, |record| count(record.bad.len()))
}

pub(super) fn free(shown: &Shown) -> Vec<Sample> {
    let places = [
        ("root", shown.disk.root_free),
        ("boot", shown.disk.boot_free),
    ];
    let known = places
        .into_iter()
        .filter_map(|(place, free)| Some((place, free?)));
    known
        .map(|(place, free)| sample([place], number(free)))
        .collect()
}

pub(super) fn boot_kernel(shown: &Shown) -> Vec<Sample> {
    let size = shown.disk.boot_kernel;
    size.map_or_else(Vec::new, |size| one(number(size)))
}

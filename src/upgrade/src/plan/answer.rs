//! The answer to a question: assembled from what was found, and cut to what an annotation may hold.

use super::found::{Found, Rehearsed};
use super::look::Look;
use super::question::Question;
use super::result::{BYTES, Change, Failure, Package, PlaceRoom, Plan};
use crate::decide::facts::{For, judge};
use crate::decide::memory;
use crate::history::{self, Past};
use crate::id::{Digest, UpgradeId};
use crate::image::Room;
use crate::observe::{Api, Observation};
use crate::policy::Policy;
use crate::reason::{Reason, complaint};
use crate::record::Record;
use crate::sanitize;
use crate::step::skew;
use crate::window::{Door, NO_TIME};

/// The most entries of each list except the packages, and the longest text of an entry, in
/// characters. Together they leave room for the packages.
const ENTRIES: usize = 15;
const TEXT: usize = 120;

/// The longest question that is repeated, in characters.
const ECHOED: usize = 500;

/// The input for an answer.
pub struct Case<'a> {
    /// The question as the Node has it.
    pub asked: &'a str,
    /// What was inspected.
    pub look: &'a Look,
    /// The record.
    pub record: &'a Record,
    /// The observation.
    pub seen: &'a Observation,
    /// The policy in force.
    pub policy: &'a Policy,
}

/// The answer if the question, its image or the node was refused.
#[must_use]
pub fn refusal(asked: &str, wall: u64, reason: &Reason) -> Plan {
    let mut plan = Plan {
        asked: echo(asked),
        at: wall,
        ..Plan::default()
    };
    refuse(&mut plan, reason);
    plan
}

/// Whether the plan answers this question.
#[must_use]
pub fn answers(plan: &Plan, asked: &str) -> bool {
    plan.asked == echo(asked)
}

/// The question as an answer repeats it. An invalid one may be of any length. Readers of another
/// version compare it, so this form does not change.
fn echo(asked: &str) -> String {
    asked.chars().take(ECHOED).collect()
}

fn refuse(plan: &mut Plan, reason: &Reason) {
    plan.code = Some(reason.code());
    plan.reason = Some(complaint(reason));
}

/// The answer if the image already runs.
pub(super) fn unchanged(asked: &str, seen: &Observation) -> Plan {
    let version = seen.machine.version.as_ref().map(ToString::to_string);
    Plan {
        asked: asked.to_owned(),
        at: seen.turn.wall,
        commit: Some(seen.machine.booted.digest.clone()),
        kubelet: changed(version.clone(), version),
        ..Plan::default()
    }
}

/// The answer after the image was inspected.
#[must_use]
pub fn answer(case: &Case<'_>, found: Found, rehearsed: Rehearsed) -> Plan {
    let seen = case.seen;
    if found.facts.commit == seen.machine.booted.digest {
        // Only now is it known which commit a branch or a container image resolves to.
        return Plan {
            fetch_bytes: found.fetch_bytes,
            ..unchanged(case.asked, seen)
        };
    }
    let against = against(case, &found).or(rehearsed.refusal);
    let info = found.facts.info.as_ref();
    let mut plan = Plan {
        asked: case.asked.to_owned(),
        at: seen.turn.wall,
        failed_before: failed_before(case.record, &found.facts.commit),
        commit: Some(found.facts.commit.clone()),
        kubelet: changed(
            seen.machine.version.as_ref().map(ToString::to_string),
            info.map(|info| info.kubernetes.to_string()),
        ),
        kernel: changed(found.kernel, found.facts.kernel.clone()),
        packages: largest_first(found.packages),
        fetch_bytes: found.fetch_bytes,
        etc_conflicts: found.etc_conflicts,
        accounts: found.accounts,
        room: rooms(found.facts.root, found.facts.boot),
        kept_goes: found.kept_goes,
        unguarded: case.policy.unguarded && info.is_some_and(|info| !info.is_guarded()),
        moving: rehearsed.moving,
        blocked: rehearsed.blocked,
        returning: rehearsed.returning,
        settings: rehearsed.settings,
        control_plane: rehearsed.control_plane,
        expected_seconds: history::usual(
            case.record.past.iter().filter_map(Past::worked).collect(),
        ),
        window_seconds: left_of_the_hours(case),
        paused: seen.node.paused.as_ref().map(|pause| cut(&pause.why())),
        ..Plan::default()
    };
    wait_for_the_hours(&mut plan, case);
    if let Some(reason) = against {
        refuse(&mut plan, &reason);
    }
    cut_to_fit(&mut plan);
    plan
}

/// The reason why an upgrade to the image would end, the first that an upgrade would meet.
fn against(case: &Case<'_>, found: &Found) -> Option<Reason> {
    let whom = For {
        kubernetes: None,
        from: case.seen.machine.version.as_ref(),
        kept: case.look.kept,
    };
    let remembered = memory::check(&case.record.bad, &found.facts.commit, id(case).as_ref());
    let judged = remembered.and_then(|()| judge(&found.facts, &whom, case.seen, case.policy));
    let judged = judged.and_then(|()| skews(case, found));
    judged.err().or_else(|| found.etc_refusal.clone())
}

/// The id in the question.
fn id(case: &Case<'_>) -> Option<UpgradeId> {
    case.asked.parse::<Question>().ok()?.id
}

fn skews(case: &Case<'_>, found: &Found) -> Result<(), Reason> {
    match (&case.seen.node.api, &found.facts.info) {
        (
            Api::Reached {
                version: Some(server),
                ..
            },
            Some(info),
        ) => {
            let kubelet = &info.kubernetes;
            // A control plane is raised to the image's version first.
            let is_raised =
                case.seen.machine.control_plane.is_some() && server.is_older_than(kubelet);
            let server = if is_raised { kubelet } else { server };
            skew(kubelet, server, case.policy.skew)
        }
        (Api::Reached { .. } | Api::Away, _) => Ok(()),
    }
}

/// The earlier failure of the image in the record, under any requester's id.
fn failed_before(record: &Record, commit: &Digest) -> Option<Failure> {
    let bad = record.bad.iter().find(|bad| bad.digest == *commit)?;
    // A request that was refused because of that failure may have repeated its id.
    let failed = |past: &&Past| {
        past.id.as_ref() == Some(&bad.id) && past.code.as_ref() == Some(&bad.because)
    };
    let past = record.past.iter().find(failed);
    Some(Failure {
        code: bad.because.clone(),
        reason: past.and_then(|past| past.reason.clone()),
    })
}

/// The seconds left of the open maintenance window; `None` if none is open.
fn left_of_the_hours(case: &Case<'_>) -> Option<u64> {
    let turn = &case.seen.turn;
    match case.policy.window.by_the_clock(turn.wall, turn.clock_set) {
        Door::Open { until } => until.map(|end| end.saturating_sub(case.seen.turn.wall)),
        Door::Closed { .. } => None,
    }
}

/// Notes the maintenance window that an upgrade would wait for before its drain, or earlier.
fn wait_for_the_hours(plan: &mut Plan, case: &Case<'_>) {
    let mut window = case.policy.window.clone();
    if window.lacks_the_time(case.seen.turn.clock_set) {
        plan.clock_unset = Some(NO_TIME.to_owned());
        return;
    }
    window.usual_seconds = history::usually_kept(&case.record.past);
    let Some(shut) = window.shut(case.seen.turn.wall, window.last_begin_minutes()) else {
        return;
    };
    match shut.opens {
        Some(opens) => plan.opens = Some(window.shown(opens)),
        None => plan.too_short = Some(shut.why),
    }
}

fn changed(from: Option<String>, to: Option<String>) -> Option<Change> {
    (from.is_some() || to.is_some()).then_some(Change { from, to })
}

fn rooms(root: Room, boot: Room) -> Vec<PlaceRoom> {
    let place = |place: &str, room: Room| PlaceRoom {
        place: place.to_owned(),
        need: room.need,
        free: room.free,
    };
    vec![place("/", root), place("/boot", boot)]
}

fn largest_first(mut packages: Vec<Package>) -> Vec<Package> {
    packages.sort_by(|a, b| {
        let size = |package: &Package| std::cmp::Reverse(package.bytes.unsigned_abs());
        (size(a), &a.name).cmp(&(size(b), &b.name))
    });
    packages
}

/// Drops packages first, the smallest change first: what blocks an upgrade matters more.
fn cut_to_fit(plan: &mut Plan) {
    plan.etc_conflicts_left_out = shorten(&mut plan.etc_conflicts);
    plan.accounts_left_out = shorten(&mut plan.accounts);
    plan.moving_left_out = shorten(&mut plan.moving);
    plan.settings_left_out = shorten(&mut plan.settings);
    plan.returning_left_out = shorten(&mut plan.returning);
    plan.control_plane_left_out = shorten(&mut plan.control_plane);
    plan.blocked_left_out = number(plan.blocked.len().saturating_sub(ENTRIES));
    plan.blocked.truncate(ENTRIES);
    for blocked in &mut plan.blocked {
        (blocked.pod, blocked.by) = (cut(&blocked.pod), cut(&blocked.by));
    }
    let all = std::mem::take(&mut plan.packages);
    let (mut fits, mut too_many) = (0, all.len() + 1);
    while too_many - fits > 1 {
        let half = fits.midpoint(too_many);
        keep(plan, &all, half);
        if length(plan) <= BYTES {
            fits = half;
        } else {
            too_many = half;
        }
    }
    keep(plan, &all, fits);
}

fn keep(plan: &mut Plan, all: &[Package], count: usize) {
    plan.packages = all[..count].to_vec();
    plan.packages_left_out = number(all.len() - count);
}

fn shorten(list: &mut Vec<String>) -> u32 {
    let surplus = list.len().saturating_sub(ENTRIES);
    list.truncate(ENTRIES);
    list.iter_mut().for_each(|text| *text = cut(text));
    number(surplus)
}

/// The cut text, also without characters that JSON would escape at greater length.
fn cut(text: &str) -> String {
    let shown = |letter: char| match letter {
        '"' | '\\' => '?',
        letter if sanitize::steers(letter) => '?',
        letter => letter,
    };
    let bytes = text.char_indices().take_while(|(at, _)| *at < TEXT);
    bytes.map(|(_, letter)| shown(letter)).collect()
}

fn number(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

fn length(plan: &Plan) -> usize {
    serde_json::to_string(plan).map_or(usize::MAX, |text| text.len())
}

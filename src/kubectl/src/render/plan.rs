//! Renders what an upgrade would do to a node.

use std::fmt::Write;

use serde::Serialize;
use upgrade::plan::{Change, Failure, Package, PlaceRoom, Plan};

use super::look::{Look, Tone};
use super::size::bytes;
use super::table::{Cell, cut, fitted_whole, plain, toned};
use crate::drain::Moving;
use crate::duration;

/// The width of the column of names.
const NAMES: usize = 15;

/// How many packages are shown by default.
const PACKAGES: usize = 20;

/// All that is known of the upgrade.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Preview {
    /// The node.
    pub node: String,
    /// The image.
    pub image: String,
    /// The answer of the node's agent; absent if it does not answer.
    pub plan: Option<Plan>,
    /// The pods that would be evicted, as the client sees them. Empty if the node says that none
    /// would be; absent if the user may not list them.
    pub pods: Option<Vec<Moving>>,
    /// How many seconds upgrades usually take in this cluster.
    pub usual_seconds: Option<u64>,
}

impl Preview {
    /// The expected duration. The node's own history knows its disk and its pods; the cluster's
    /// history is second best.
    #[must_use]
    pub fn expected_seconds(&self) -> Option<u64> {
        let own = self.plan.as_ref().and_then(|plan| plan.expected_seconds);
        own.or(self.usual_seconds)
    }

    /// Uses the node's own statement if it says that no pods move. The client knows neither the
    /// node's policy nor what it runs.
    #[must_use]
    pub fn settled(self) -> Self {
        let none = self.plan.as_ref().is_some_and(moves_none);
        let pods = if none { Some(Vec::new()) } else { self.pods };
        Self { pods, ..self }
    }
}

/// Whether the node answers that no pod would move. If the agent refuses, it has not looked at the
/// pods.
fn moves_none(plan: &Plan) -> bool {
    is_unrefused(plan)
        && plan.moving.is_empty()
        && plan.moving_left_out == 0
        && plan.blocked.is_empty()
}

const fn is_unrefused(plan: &Plan) -> bool {
    plan.code.is_none() && plan.reason.is_none()
}

/// If the image already runs, an agent answers with its commit and no space figures, because
/// nothing would be written.
fn runs_it_already(plan: &Plan) -> bool {
    is_unrefused(plan) && plan.commit.is_some() && plan.room.is_empty()
}

/// The plan as text.
#[must_use]
pub fn plan(preview: &Preview, wide: bool, look: Look) -> String {
    let title = format!("{} to {}", preview.node, preview.image);
    let mut text = look.paint(Tone::Strong, &title) + "\n\n";
    for (name, value) in lines(preview) {
        let name = look.paint(Tone::Faint, &format!("{name:<NAMES$}"));
        let _ = writeln!(text, "  {name}{}", look.paint(value.tone, &value.text));
    }
    text += &packages(preview, wide, look);
    text += &listed(
        "/etc files that this node has changed and the image changes too (the new system gets the node's version, without what the image changes in it)",
        etc(preview),
        look,
    );
    text += &listed(
        "accounts that the image adds to the node's own",
        accounts(preview),
        look,
    );
    text += &listed("control plane of this node", control_plane(preview), look);
    text += &listed("pods that would move", pods(preview), look);
    text += &listed(
        "pods that the cordon does not keep off this node (a controller may start them here again, or pins them; the drain does not wait for those)",
        returning(preview),
        look,
    );
    text
}

fn lines(preview: &Preview) -> Vec<(&'static str, Cell)> {
    let (plan, expected) = (preview.plan.as_ref(), preview.expected_seconds());
    let takes = |seconds| {
        (
            "takes",
            plain(format!("about {}", duration::short(seconds))),
        )
    };
    let mut lines = Vec::new();
    lines.extend(plan.into_iter().flat_map(|plan| planned(plan, expected)));
    lines.extend(expected.map(takes));
    lines.extend(plan.into_iter().flat_map(|plan| waits(plan, preview)));
    lines
}

/// The verdict, and what the upgrade would change on the node.
fn planned(plan: &Plan, expected: Option<u64>) -> Vec<(&'static str, Cell)> {
    let mut lines = vec![("verdict", verdict(plan, expected))];
    let before = plan.failed_before.as_ref();
    lines.extend(before.map(|failure| ("failed here", failed(failure))));
    let versions = [("kubelet", &plan.kubelet), ("kernel", &plan.kernel)];
    let versions = versions.into_iter().filter_map(|(name, change)| {
        let change = change.as_ref()?;
        Some((name, plain(changed(change))))
    });
    lines.extend(versions);
    let size = plan.fetch_bytes;
    lines.extend(size.map(|size| ("to fetch", plain(bytes(size)))));
    lines.extend(plan.room.iter().map(|room| ("room", fits(room))));
    lines.extend(plan.kept_goes.then(loses_the_kept_system));
    lines.extend(settings(plan).map(|cell| ("kubelet setting", cell)));
    lines.extend(plan.unguarded.then(has_no_guard));
    lines
}

fn loses_the_kept_system() -> (&'static str, Cell) {
    let says = "goes first, to make room: there is no rollback to it";
    ("kept system", toned(Tone::Held, says))
}

fn has_no_guard() -> (&'static str, Cell) {
    let says =
        "none in the image's initramfs, as the node's policy allows: a hang there needs a person";
    ("guard", toned(Tone::Held, says))
}

/// What kubeadm would undo, whether or not the policy lets it.
fn settings(plan: &Plan) -> impl Iterator<Item = Cell> {
    let named = plan.settings.iter().map(|lost| toned(Tone::Held, lost));
    named.chain(more(Some(plan.settings_left_out)))
}

/// The node has tried this image; a new request tries it again.
fn failed(failure: &Failure) -> Cell {
    let code = &failure.code;
    let why = failure.reason.as_ref();
    let why = why.map_or_else(String::new, |reason| {
        format!(": {}", reason.trim_end_matches('.'))
    });
    toned(
        Tone::Held,
        format!("before, with {code}{why}; a new request tries it again"),
    )
}

/// What an upgrade has to wait for, and how much of the current window is left.
fn waits(plan: &Plan, preview: &Preview) -> impl Iterator<Item = (&'static str, Cell)> {
    let paused = plan.paused.as_ref().map(|why| toned(Tone::Held, why));
    let window = window(plan, preview.expected_seconds()).map(|cell| ("window", cell));
    window
        .into_iter()
        .chain(paused.map(|cell| ("paused", cell)))
}

fn window(plan: &Plan, expected: Option<u64>) -> Option<Cell> {
    if let Some(why) = &plan.clock_unset {
        return Some(toned(Tone::Held, why));
    }
    match (&plan.too_short, plan.window_seconds, &plan.opens) {
        (Some(why), ..) => Some(toned(Tone::Bad, why)),
        (None, Some(left), Some(opens)) => {
            let left = duration::short(left);
            let text = format!("{left} left: not enough for a drain; it opens again {opens}");
            Some(toned(Tone::Held, text))
        }
        (None, Some(left), None) => Some(window_left(left, expected)),
        (None, None, Some(opens)) => Some(toned(Tone::Held, format!("closed, it opens {opens}"))),
        (None, None, None) => None,
    }
}

fn verdict(plan: &Plan, expected: Option<u64>) -> Cell {
    match (&plan.code, &plan.reason) {
        (None, None) => unrefused(plan, expected),
        (code, reason) => {
            let code = code.as_deref().unwrap_or("refused");
            let reason = reason.as_deref().unwrap_or("no reason was given");
            toned(Tone::Bad, format!("{code}: {reason}"))
        }
    }
}

/// The verdict if no reason for a refusal is known.
fn unrefused(plan: &Plan, expected: Option<u64>) -> Cell {
    let hindered = is_hindered(plan, expected);
    let Some(until) = until(plan) else {
        return match hindered {
            true => toned(
                Tone::Held,
                "it would be accepted, and then delayed as shown below",
            ),
            false => toned(Tone::Good, "nothing that can be seen now is in its way"),
        };
    };
    let more = match hindered {
        true => ", and then be delayed as shown below",
        false => "",
    };
    toned(Tone::Held, format!("it would wait until {until}{more}"))
}

fn until(plan: &Plan) -> Option<String> {
    let resumed = plan.paused.as_ref();
    let resumed = resumed.map(|_| "the node is resumed".to_owned());
    let set = plan.clock_unset.as_ref();
    let set = set.map(|_| "the node's clock is set and the hours are open".to_owned());
    let opens = plan.opens.as_ref();
    let opens = opens.map(|opens| match resumed {
        Some(_) => format!("not before {opens}"),
        None => opens.clone(),
    });
    let all: Vec<_> = [resumed, set, opens].into_iter().flatten().collect();
    (!all.is_empty()).then(|| all.join(", and "))
}

fn is_hindered(plan: &Plan, expected: Option<u64>) -> bool {
    // A window in which the upgrade does not start does not count.
    let left = plan.window_seconds.filter(|_| plan.opens.is_none());
    let short = |left| expected.is_some_and(|expected| expected > left);
    !plan.blocked.is_empty()
        || plan.room.iter().any(|room| room.free < room.need)
        || plan.failed_before.is_some()
        || plan.too_short.is_some()
        || left.is_some_and(short)
}

fn changed(change: &Change) -> String {
    match (&change.from, &change.to) {
        (Some(from), Some(to)) if from == to => format!("{from} (unchanged)"),
        (Some(from), Some(to)) => format!("{from} -> {to}"),
        (None, Some(to)) => format!("{to} (new)"),
        (Some(from), None) => format!("{from} (goes)"),
        (None, None) => "?".to_owned(),
    }
}

fn fits(room: &PlaceRoom) -> Cell {
    let text = format!(
        "{}: needs {}, {} free",
        room.place,
        bytes(room.need),
        bytes(room.free)
    );
    let tone = if room.free >= room.need {
        Tone::Plain
    } else {
        Tone::Bad
    };
    toned(tone, text)
}

fn window_left(left: u64, expected: Option<u64>) -> Cell {
    let text = format!("{} left", duration::short(left));
    match expected.is_some_and(|expected| expected > left) {
        true => toned(Tone::Bad, format!("{text}: not enough")),
        false => plain(text),
    }
}

fn packages(preview: &Preview, wide: bool, look: Look) -> String {
    let Some(plan) = preview
        .plan
        .as_ref()
        .filter(|plan| !plan.packages.is_empty())
    else {
        return String::new();
    };
    let shown = if wide { plan.packages.len() } else { PACKAGES };
    let packages = plan.packages.iter().take(shown);
    let rows: Vec<Vec<Cell>> = packages.map(|one| package(one, look)).collect();
    let heads = ["PACKAGE", "FROM", "TO", "SIZE"];
    let mut text = "\n".to_owned() + &fitted_whole(&heads, &rows, look, &["SIZE", "FROM"]);
    let hidden = plan.packages.len().saturating_sub(shown);
    let hint = if hidden > 0 { " (-o wide)" } else { "" };
    let left = hidden + usize::try_from(plan.packages_left_out).unwrap_or(usize::MAX);
    if left > 0 {
        let _ = writeln!(text, "… and {left} more{hint}");
    }
    text
}

/// Half of a narrow screen is reserved for the versions.
fn package(package: &Package, look: Look) -> Vec<Cell> {
    let room = look.width.map_or(usize::MAX, |width| width / 2);
    let version =
        |version: &Option<String>| plain(version.clone().unwrap_or_else(|| "-".to_owned()));
    let sign = if package.bytes < 0 { "-" } else { "+" };
    let size = format!("{sign}{}", bytes(package.bytes.unsigned_abs()));
    vec![
        plain(cut(&package.name, room)),
        version(&package.change.from),
        version(&package.change.to),
        plain(size),
    ]
}

fn etc(preview: &Preview) -> Vec<Cell> {
    let conflicts = preview.plan.iter().flat_map(|plan| &plan.etc_conflicts);
    let left_out = preview
        .plan
        .as_ref()
        .map(|plan| plan.etc_conflicts_left_out);
    conflicts.map(plain).chain(more(left_out)).collect()
}

fn accounts(preview: &Preview) -> Vec<Cell> {
    let added = preview.plan.iter().flat_map(|plan| &plan.accounts);
    let left_out = preview.plan.as_ref().map(|plan| plan.accounts_left_out);
    added.map(plain).chain(more(left_out)).collect()
}

/// The node's own rehearsal comes first, then the pods that only the client sees.
fn pods(preview: &Preview) -> Vec<Cell> {
    if let Some(plan) = preview.plan.as_ref().filter(|plan| moves_none(plan)) {
        return vec![plain(why_none(plan))];
    }
    let blocked = preview
        .plan
        .as_ref()
        .map(|plan| plan.blocked.as_slice())
        .unwrap_or_default();
    let rehearsed = blocked
        .iter()
        .map(|one| toned(Tone::Bad, format!("{}: held by {}", one.pod, one.by)));
    let blocked_left_out = preview
        .plan
        .as_ref()
        .map_or(0, |plan| plan.blocked_left_out);
    let held =
        (blocked_left_out > 0).then(|| format!("… and {blocked_left_out} more that are held"));
    let rehearsed = rehearsed.chain(held.map(|text| toned(Tone::Bad, text)));
    let is_other = |pod: &str| blocked.iter().all(|known| known.pod != pod);
    let Some(seen) = &preview.pods else {
        // A user who may not list pods sees what the node says of them.
        let plan = preview.plan.as_ref();
        let told = plan.iter().flat_map(|plan| &plan.moving);
        let others = told.filter(|pod| is_other(pod)).map(plain);
        let left_out = plan.map(|plan| plan.moving_left_out);
        return rehearsed.chain(others).chain(more(left_out)).collect();
    };
    let others = seen.iter().filter(|one| is_other(&one.pod));
    rehearsed.chain(others.map(moving)).collect()
}

fn returning(preview: &Preview) -> Vec<Cell> {
    let named = preview.plan.iter().flat_map(|plan| &plan.returning);
    let left_out = preview.plan.as_ref().map(|plan| plan.returning_left_out);
    named.map(plain).chain(more(left_out)).collect()
}

/// What its survey finds; nothing on a worker.
fn control_plane(preview: &Preview) -> Vec<Cell> {
    let found = preview.plan.iter().flat_map(|plan| &plan.control_plane);
    let left_out = preview
        .plan
        .as_ref()
        .map(|plan| plan.control_plane_left_out);
    found.map(plain).chain(more(left_out)).collect()
}

fn why_none(plan: &Plan) -> &'static str {
    match runs_it_already(plan) {
        true => "none: it runs this image already",
        false => {
            "none, as the node reports: no pod has to move, or drain.skip in its policy lets them end with the node"
        }
    }
}

fn more(left_out: Option<u32>) -> Option<Cell> {
    let left_out = left_out.filter(|count| *count > 0)?;
    Some(plain(format!("… and {left_out} more")))
}

fn moving(one: &Moving) -> Cell {
    match (&one.held_by, one.bare) {
        (Some(budget), _) => toned(
            Tone::Bad,
            format!("{}: held by {budget} at this moment", one.pod),
        ),
        (None, true) => toned(
            Tone::Held,
            format!("{}: no controller starts it elsewhere", one.pod),
        ),
        (None, false) => plain(&one.pod),
    }
}

fn listed(title: &str, items: Vec<Cell>, look: Look) -> String {
    if items.is_empty() {
        return String::new();
    }
    let mut text = format!("\n{title}:\n");
    for item in items {
        let _ = writeln!(text, "  {}", look.paint(item.tone, &item.text));
    }
    text
}

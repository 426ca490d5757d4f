//! The table of `kubectl careen status`.

use requests::PhaseName;

use super::look::{Look, Tone};
use super::report;
use super::table::{Cell, fitted, plain, toned};
use crate::duration;
use crate::expected::{Expected, elapsed};
use crate::phase;
use crate::standing::Standing;
use crate::unaccepted::unaccepted;
use crate::view::NodeView;

/// The width of a progress bar.
const BAR: usize = 10;

/// Columns that are dropped first on a narrow screen.
const LEAST: [&str; 7] = [
    "IMAGE", "ID", "EXPECTED", "VERSION", "ELAPSED", "LEFT", "PROGRESS",
];

/// The input of the table besides the nodes.
#[derive(Clone, Copy, Debug)]
pub struct Around<'a> {
    /// Seconds since 1970.
    pub now: u64,
    /// The statistics of past upgrades.
    pub expected: &'a Expected,
    /// Whether to show the rarely needed columns.
    pub wide: bool,
    /// The screen.
    pub look: Look,
}

/// A line for each node.
#[must_use]
pub fn status(nodes: &[&NodeView], around: Around<'_>) -> String {
    let mut heads = vec![
        "NODE", "STATE", "PROGRESS", "ELAPSED", "LEFT", "EXPECTED", "VERSION",
    ];
    if around.wide {
        heads.extend(["TRIES", "CORDON", "SOAK", "ID", "IMAGE"]);
    }
    heads.push("SAYS");
    let rows: Vec<Vec<Cell>> = nodes.iter().map(|node| row(node, around)).collect();
    fitted(&heads, &rows, around.look, &LEAST)
}

/// As many nodes as the screen holds, those that need attention first, and the number of the
/// others.
#[must_use]
pub fn screenful(nodes: &[&NodeView], around: Around<'_>) -> String {
    let room = around
        .look
        .height
        .map_or(usize::MAX, |lines| lines.saturating_sub(3).max(1));
    if nodes.len() <= room {
        return status(nodes, around);
    }
    let mut urgent = nodes.to_vec();
    urgent.sort_by_key(|node| (urgency(node), node.name.clone()));
    let beside = urgent.split_off(room);
    let counted = format!("… and {} more\n", beside.len());
    status(&urgent, around) + &around.look.paint(Tone::Faint, &counted)
}

fn urgency(node: &NodeView) -> u8 {
    match Standing::of(node) {
        Standing::Halted | Standing::Failed | Standing::Refused => 0,
        Standing::Working => 1,
        Standing::Asked | Standing::Held => 2,
        Standing::Upgraded => 3,
        Standing::Idle => 4,
    }
}

fn row(node: &NodeView, around: Around<'_>) -> Vec<Cell> {
    let standing = Standing::of(node);
    let seconds = |found: Option<u64>| found.map(duration::short).unwrap_or_default();
    let expected = around
        .expected
        .seconds()
        .filter(|_| standing == Standing::Working);
    let left = around.expected.left(node, around.now);
    let mut cells = vec![
        plain(&node.name),
        state(node),
        progress(node, around.look),
        plain(seconds(elapsed(node, around.now))),
        plain(left.map(remaining).unwrap_or_default()),
        plain(
            expected
                .map(|known| format!("~{}", duration::short(known)))
                .unwrap_or_default(),
        ),
        plain(versions(node)),
    ];
    if around.wide {
        cells.extend(wide(node, around));
    }
    cells.push(says(node, around.now));
    cells
}

/// The remaining time. An upgrade that takes longer than others is not a problem: the past only
/// shows what is usual.
fn remaining(seconds: u64) -> String {
    match seconds {
        0 => "over".to_owned(),
        left => format!("~{}", duration::short(left)),
    }
}

fn wide(node: &NodeView, around: Around<'_>) -> [Cell; 5] {
    let report = report::of(node, around.now, around.expected);
    let cordon = match (node.cordoned, &node.cordoned_by) {
        (false, _) => "",
        (true, Some(_)) => "ours",
        (true, None) => "foreign",
    };
    [
        plain(report.tries.to_string()),
        plain(cordon),
        plain(report.soak_seconds.map(duration::short).unwrap_or_default()),
        plain(report.id.unwrap_or_default()),
        plain(report.image.unwrap_or_default()),
    ]
}

/// The phase of a working node, or the state of another.
#[must_use]
pub fn state(node: &NodeView) -> Cell {
    let standing = Standing::of(node);
    let phase = node
        .reply
        .status
        .as_ref()
        .map(|status| status.phase.clone());
    let phase = phase.filter(|_| standing == Standing::Working);
    let word = phase.unwrap_or_else(|| standing.word().to_owned());
    toned(tone(standing), word)
}

const fn tone(standing: Standing) -> Tone {
    match standing {
        Standing::Idle => Tone::Faint,
        Standing::Asked | Standing::Held => Tone::Held,
        Standing::Working => Tone::Busy,
        Standing::Upgraded => Tone::Good,
        Standing::Failed | Standing::Refused | Standing::Halted => Tone::Bad,
    }
}

fn progress(node: &NodeView, look: Look) -> Cell {
    let works = Standing::of(node) == Standing::Working;
    let status = node.reply.status.as_ref().filter(|_| works);
    let Some(percent) = status.map(|status| status.percent) else {
        return plain("");
    };
    if look.width.is_none() {
        return plain(format!("{percent}%"));
    }
    plain(format!("[{}] {percent:>3}%", bar(percent)))
}

fn bar(percent: u8) -> String {
    let full = usize::from(percent) * BAR / 100;
    "#".repeat(full) + &".".repeat(BAR.saturating_sub(full))
}

/// The old and the new version if an upgrade is in progress.
#[must_use]
pub fn versions(node: &NodeView) -> String {
    let told = node.reply.status.as_ref();
    let to = told.and_then(|told| Some(told.to_version.as_ref()?.to_string()));
    match to.filter(|to| Standing::of(node) == Standing::Working && *to != node.kubelet) {
        Some(to) => format!("{} -> {to}", node.kubelet),
        None => node.kubelet.clone(),
    }
}

fn says(node: &NodeView, now: u64) -> Cell {
    let standing = Standing::of(node);
    let told = node.reply.status.as_ref();
    let doing = || told.and_then(|told| told.doing.clone());
    match standing {
        Standing::Idle | Standing::Upgraded => toned(Tone::Held, paused(node)),
        Standing::Held => toned(Tone::Held, node.paused.clone().unwrap_or_default()),
        Standing::Asked => match unaccepted(node) {
            Some(word) => toned(Tone::Held, &word.sentence),
            None => plain(unanswered(node, now)),
        },
        Standing::Working => match node.reason() {
            Some(reason) => toned(Tone::Held, reason),
            None => plain(doing().unwrap_or_else(|| meaning(node))),
        },
        Standing::Failed | Standing::Refused | Standing::Halted => {
            toned(Tone::Bad, node.reason().unwrap_or("no reason was given"))
        }
    }
}

fn paused(node: &NodeView) -> String {
    let why = node.paused.as_ref();
    why.map(|why| format!("paused: {why}")).unwrap_or_default()
}

fn unanswered(node: &NodeView, now: u64) -> String {
    let since = node.asked.as_ref().and_then(|asked| asked.since);
    match since.map(|since| duration::between(duration::seconds(since), now)) {
        Some(seconds) => format!("asked {} ago, not answered yet", duration::short(seconds)),
        None => "asked at a time that is not known, not answered yet".to_owned(),
    }
}

fn meaning(node: &NodeView) -> String {
    let named = node.reply.phase();
    if named == PhaseName::Other {
        return String::new();
    }
    phase::now(node).to_owned()
}

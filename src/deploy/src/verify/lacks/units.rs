//! The effect of units in several folders in systemd (systemd.unit(5), "Unit File Load Path"):
//! which of them exist, and which a boot starts.

use std::collections::{BTreeMap, BTreeSet};

use upgrade::names;

/// What starts in each trial: the unit that judges it, the unit that ends it when nothing else
/// does, and what both rely on.
const STARTED: [&str; 4] = [
    names::AGENT_UNIT,
    names::DEADMAN_TIMER,
    names::CHECK_UNIT,
    names::GATE_UNIT,
];
/// What one of those units starts.
const CALLED: [&str; 1] = [names::DEADMAN_UNIT];
/// Folders of targets that a successful trial never reaches.
const IN_NEED: [&str; 2] = ["emergency.target.", "rescue.target."];
/// Prefixes of a program's path in `ExecStart=` (systemd.service(5), "Command lines").
const MARKS: [char; 6] = ['@', '-', ':', '+', '!', '|'];

/// A file or a link among units.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// An empty file, or a link to /dev/null: it disables this name, wherever else it exists.
    Mask,
    /// Any other entry, with its text. The text of a link is empty.
    Text(String),
}

/// Entries by their paths below a folder of units.
pub type Units = BTreeMap<String, Entry>;

/// The units that a trial needs.
pub fn needed() -> impl Iterator<Item = &'static str> {
    STARTED.into_iter().chain(CALLED)
}

/// Whether a link in a folder of this name starts the unit that it is named after.
pub fn pulls_in(folder: &str) -> bool {
    let kinds = [".wants", ".requires", ".upholds"];
    kinds.iter().any(|kind| folder.ends_with(kind))
}

/// The result of libostree's merge of /etc: what the node has changed or removed stays so, and
/// everything else is as in the new image.
pub fn merged(ours: Units, defaults: &Units, mut theirs: Units) -> Units {
    theirs.retain(|path, _| ours.get(path) == defaults.get(path));
    let own = ours.into_iter();
    theirs.extend(own.filter(|(path, entry)| defaults.get(path) != Some(entry)));
    theirs
}

/// The programs that needed units run.
pub fn programs(units: &Units) -> BTreeSet<&str> {
    let texts = needed().filter_map(|unit| match units.get(unit) {
        Some(Entry::Text(text)) => Some(text),
        Some(Entry::Mask) | None => None,
    });
    texts.filter_map(|text| program(text)).collect()
}

fn program(unit: &str) -> Option<&str> {
    let settings = unit.lines().filter_map(|line| line.split_once('='));
    let mut commands = settings.filter(|(name, _)| name.trim() == "ExecStart");
    let path = commands.find_map(|(_, command)| command.split_whitespace().next())?;
    Some(path.trim_start_matches(MARKS))
}

/// What a trial would lack, for a person.
pub fn lacking(units: &Units, is_there: impl Fn(&str) -> bool) -> Vec<String> {
    let mut all: Vec<_> = needed().filter_map(|unit| flaw(units, unit)).collect();
    let missing = programs(units).into_iter().filter(|path| !is_there(path));
    all.extend(missing.map(str::to_owned));
    all
}

fn flaw(units: &Units, unit: &str) -> Option<String> {
    match units.get(unit) {
        None => Some(unit.to_owned()),
        Some(Entry::Mask) => Some(format!("{unit} (masked)")),
        Some(Entry::Text(_)) if STARTED.contains(&unit) && !is_pulled_in(units, unit) => {
            Some(format!("{unit} (not enabled)"))
        }
        Some(Entry::Text(_)) => None,
    }
}

/// A dangling link counts (systemd, `process_deps` in load-dropin.c), so this does not check the
/// target.
fn is_pulled_in(units: &Units, unit: &str) -> bool {
    let reached = |folder: &str| !IN_NEED.iter().any(|target| folder.starts_with(target));
    units.iter().any(|(path, entry)| {
        let link = path.split_once('/');
        *entry != Entry::Mask && link.is_some_and(|(folder, name)| name == unit && reached(folder))
    })
}

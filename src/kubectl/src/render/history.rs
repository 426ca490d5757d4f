//! Renders the last upgrades of nodes.

use upgrade::bill::Seconds;
use upgrade::history::Past;
use upgrade::report::Answer;
use upgrade::{Source, Wanted};

use super::look::{Look, Tone};
use super::table::{Cell, fitted, plain, toned};
use crate::duration;
use crate::past_upgrades::NodePast;

/// Columns that are dropped first on a narrow screen.
const LEAST: [&str; 12] = [
    "IMAGE", "ID", "NOTREADY", "DRAINED", "WAITED", "WORKED", "TRIES", "CORDONED", "FROM", "TOOK",
    "TO", "BEGAN",
];

/// A line for each upgrade, with the node's name if there are several nodes.
#[must_use]
pub fn history(told: &[NodePast], names: bool, wide: bool, look: Look) -> String {
    let mut heads = if names { vec!["NODE"] } else { Vec::new() };
    heads.extend(["BEGAN", "TOOK", "WORKED", "WAITED", "CORDONED"]);
    if wide {
        heads.extend(["DRAINED", "NOTREADY"]);
    }
    heads.extend(["ANSWER", "FROM", "TO", "TRIES"]);
    if wide {
        heads.extend(["ID", "IMAGE"]);
    }
    heads.push("REASON");
    let line = |told: &NodePast| {
        let name = names.then(|| plain(&told.node));
        name.into_iter().chain(row(&told.past, wide)).collect()
    };
    let rows: Vec<Vec<Cell>> = told.iter().map(line).collect();
    fitted(&heads, &rows, look, &LEAST)
}

fn row(past: &Past, wide: bool) -> Vec<Cell> {
    let version = |known: &Option<upgrade::Version>| {
        plain(known.as_ref().map(ToString::to_string).unwrap_or_default())
    };
    let mut cells = vec![
        plain(duration::moment(past.began)),
        plain(duration::short(duration::between(past.began, past.ended))),
    ];
    cells.extend(shares(past, wide));
    cells.extend([
        answer(past),
        version(&past.from),
        plain(target(past)),
        plain(past.tries.to_string()),
    ]);
    if wide {
        cells.push(plain(
            past.id
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
        ));
        cells.push(plain(&past.image));
    }
    let reason = past.reason.as_ref().or(past.code.as_ref());
    cells.push(plain(reason.cloned().unwrap_or_default()));
    cells
}

/// The version of the image, or what the image is called if the upgrade ended before its version
/// was known.
fn target(past: &Past) -> String {
    let known = past.to.as_ref().map(ToString::to_string);
    known.unwrap_or_else(|| match past.image.parse::<Wanted>() {
        Ok(Wanted::Image(image)) => match image.source {
            Source::Remote(branch) => branch.reference,
            Source::Container(image) => {
                let last = image.place.rsplit('/').next();
                last.unwrap_or_default().to_owned()
            }
        },
        Ok(Wanted::Kept) => past.image.clone(),
        // A refused request may name anything, and its reason says what.
        Err(_) => String::new(),
    })
}

/// How the time was spent, and what it cost the node's users. Blank if the agent did not count it.
fn shares(past: &Past, wide: bool) -> Vec<Cell> {
    let cell = |of: fn(&Seconds) -> u64| {
        let seconds = past.seconds.as_ref().map(of);
        plain(seconds.map(duration::short).unwrap_or_default())
    };
    let mut cells = vec![
        cell(|seconds| seconds.working),
        cell(|seconds| seconds.waiting),
        cell(|seconds| seconds.cordoned),
    ];
    if wide {
        cells.push(cell(|seconds| seconds.drained));
        cells.push(cell(|seconds| seconds.not_ready));
    }
    cells
}

/// The code of a failure is more informative than the word.
fn answer(past: &Past) -> Cell {
    match past.answer {
        Answer::Upgraded => toned(Tone::Good, Answer::Upgraded.as_str()),
        Answer::InProgress => toned(Tone::Busy, Answer::InProgress.as_str()),
        Answer::Failed => {
            let code = past.code.as_deref().unwrap_or(Answer::Failed.as_str());
            toned(Tone::Bad, code)
        }
    }
}

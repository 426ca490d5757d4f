//! The operator's own programs: each must be safe to run as root. A program in `required.d` that is
//! not would cost a drain and a reboot, and condemn the image.

use upgrade::reason::few;

use super::finding::{Finding, Verdict};
use super::patient::Patient;
use crate::health::programs::{self, Program};
use crate::step::hooks::HOMES;

const NAME: &str = "programs";

/// The folders, each with the verdict for a program that is not run.
const FOLDERS: [(&str, Verdict); 4] = [
    // No request gets as far as the drain.
    ("pre.d", Verdict::Bad),
    // Every trial fails.
    ("required.d", Verdict::Bad),
    ("wanted.d", Verdict::Warn),
    ("post.d", Verdict::Warn),
];

/// The folder of lists of what is saved before a trial.
const LISTS: &str = "snapshot.d";

/// The folders of checks among them. A hook that is not executable is switched off.
const CHECKS: [&str; 2] = ["required.d", "wanted.d"];

/// One finding for each program that is not run, or one for all if every program is fine.
pub(super) fn programs(patient: &Patient) -> Vec<Finding> {
    let mut amiss = Vec::new();
    let mut count = 0;
    for (folder, verdict) in FOLDERS {
        let found = in_folder(patient, folder);
        count += found.len();
        amiss.extend(
            found
                .into_iter()
                .filter_map(|program| judge(program, verdict)),
        );
    }
    amiss.extend(skipped(patient));
    if amiss.is_empty() {
        let seen = match count {
            0 => "the operator has no hooks and no checks".to_owned(),
            _ => format!("all {count} hooks and checks of the operator may run"),
        };
        return vec![Finding::ok(NAME, seen)];
    }
    amiss
}

/// Backups beside programs and lists. A person may believe that they count.
fn skipped(patient: &Patient) -> Option<Finding> {
    let named = FOLDERS.iter().map(|(folder, _)| *folder);
    let folders = named.chain([LISTS]).flat_map(|folder| {
        let root = &patient.places.root;
        HOMES.map(|home| root.join(home).join(folder))
    });
    let skipped = programs::skipped(&folders.collect::<Vec<_>>());
    let paths: Vec<_> = skipped
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let seen = format!("skipped, by the names of backups: {}", few(&paths));
    let fix = "remove them, or give them another name if they are meant to count";
    (!paths.is_empty()).then(|| Finding::new(NAME, Verdict::Warn, seen, fix))
}

fn in_folder(patient: &Patient, folder: &str) -> Vec<Program> {
    let root = &patient.places.root;
    let folders = HOMES.map(|home| root.join(home).join(folder));
    let found = if CHECKS.contains(&folder) {
        programs::find_checks(&folders)
    } else {
        programs::find(&folders)
    };
    let mut found: Vec<_> = found.into_values().collect();
    if found.is_empty() {
        // A finding names a folder at fault with each program in it. An empty folder gets its own
        // finding.
        let folders = folders.iter().filter_map(|folder| programs::folder(folder));
        found.extend(
            folders
                .map(|(_, program)| program)
                .filter(|program| program.fault.is_some()),
        );
    }
    found
}

fn judge(program: Program, verdict: Verdict) -> Option<Finding> {
    let seen = format!("{}: {}", program.path.display(), program.fault?);
    let fix = "run that command, or remove the program (or the link)";
    Some(Finding::new(NAME, verdict, seen, fix))
}

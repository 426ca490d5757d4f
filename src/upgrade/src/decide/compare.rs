//! The former way to decide beside the present one: both must come to the same decision.
//!
//! A flat record can say what no upgrade can be. It is read as the nearest that can be. Where only
//! such records differ, the decisions are the same as they are read, and are counted apart.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Act, Decision, RecordRead, decided};
use crate::former;
use crate::observe::Observation;
use crate::policy::PolicyRead;
use crate::progress::Upgrade;
use crate::record::{Record, Upgrade as Wire};

static SAME: AtomicU64 = AtomicU64::new(0);
static READ_THE_SAME: AtomicU64 = AtomicU64::new(0);
static NEAREST: AtomicU64 = AtomicU64::new(0);

/// How many decisions of this process were compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Compared {
    /// The same act and the same record, field by field.
    pub same: u64,
    /// The same act, and records that are read the same: an outcome came of a step that cannot have
    /// begun.
    pub read_the_same: u64,
    /// The record that was given is none that an upgrade can have: the same of the nearest.
    pub nearest: u64,
}

/// The counts so far.
#[must_use]
pub fn compared() -> Compared {
    Compared {
        same: SAME.load(Ordering::Relaxed),
        read_the_same: READ_THE_SAME.load(Ordering::Relaxed),
        nearest: NEAREST.load(Ordering::Relaxed),
    }
}

/// What to do next. Total: there is a decision for every record, observation and policy.
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let decision = decided(seen, read, policy);
    let count = compare(seen, read, policy, &decision);
    count.fetch_add(1, Ordering::Relaxed);
    decision
}

fn compare(
    seen: &Observation,
    read: &RecordRead,
    policy: &PolicyRead,
    present: &Decision,
) -> &'static AtomicU64 {
    let former = former::decide(seen, read, policy);
    if *present == former {
        return &SAME;
    }
    if as_read(present) == as_read(&former) {
        return &READ_THE_SAME;
    }
    let nearest = read.clone().map(nearest);
    let former = former::decide(seen, &nearest, policy);
    let present = decided(seen, &nearest, policy);
    let differ = differences(&former, &present);
    assert!(
        as_read(&former) == as_read(&present),
        "former and present:\n{differ}\nof {nearest:#?}\n{seen:#?}\n{policy:#?}"
    );
    &NEAREST
}

fn as_read(decision: &Decision) -> (Option<Record>, &Act) {
    (decision.record.clone().map(nearest), &decision.act)
}

/// The record as the typed values read it.
fn nearest(mut record: Record) -> Record {
    let typed = record.upgrade.map(Upgrade::from);
    record.upgrade = typed.map(Wire::from);
    record
}

/// The lines in which they differ.
fn differences(former: &Decision, present: &Decision) -> String {
    let (former, present) = (format!("{former:#?}"), format!("{present:#?}"));
    let only = |one: &str, other: &str, mark: char| -> String {
        one.lines()
            .filter(|line| !other.lines().any(|there| there == *line))
            .map(|line| format!("{mark}{line}\n"))
            .collect()
    };
    only(&former, &present, '-') + &only(&present, &former, '+')
}

//! The former way to decide beside the present one: both must come to the same decision.
//!
//! A flat record can say what no upgrade can be, and what no agent writes. Such a record is read as
//! the nearest that can be: there both are asked of that one.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{Decision, RecordRead, decided};
use crate::former;
use crate::observe::Observation;
use crate::policy::PolicyRead;
use crate::progress::Upgrade;
use crate::record::Upgrade as Wire;

static AS_READ: AtomicU64 = AtomicU64::new(0);
static NEAREST: AtomicU64 = AtomicU64::new(0);

/// How many decisions of this process were compared: of records as they are, and of records of which
/// the nearest possible one was taken.
#[must_use]
pub fn compared() -> (u64, u64) {
    let count = |of: &AtomicU64| of.load(Ordering::Relaxed);
    (count(&AS_READ), count(&NEAREST))
}

/// What to do next. Total: there is a decision for every record, observation and policy.
pub fn decide(seen: &Observation, read: &RecordRead, policy: &PolicyRead) -> Decision {
    let decision = decided(seen, read, policy);
    if decision == former::decide(seen, read, policy) {
        AS_READ.fetch_add(1, Ordering::Relaxed);
        return decision;
    }
    let nearest = nearest(read);
    assert_ne!(
        &nearest, read,
        "the former decision differs: {:#?}\nthe present one: {decision:#?}\nof {seen:#?}\nby {policy:#?}",
        former::decide(seen, read, policy)
    );
    assert_eq!(
        former::decide(seen, &nearest, policy),
        decided(seen, &nearest, policy),
        "of {nearest:#?}\n{seen:#?}"
    );
    NEAREST.fetch_add(1, Ordering::Relaxed);
    decision
}

/// The record as the typed values read it.
fn nearest(read: &RecordRead) -> RecordRead {
    let mut record = read.clone()?;
    let typed = record.upgrade.map(Upgrade::from);
    record.upgrade = typed.map(Wire::from);
    Ok(record)
}

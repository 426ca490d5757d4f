//! The record as the model keeps it: shared, with its hash, so that a state is small to copy and
//! fast to hash.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use upgrade::bill::{Bill, Since, Stopwatch};
use upgrade::counters::Tally;
use upgrade::{Moment, Record, SinceBoot};

use crate::cast::boot_id;

/// An immutable record.
#[derive(Clone, Debug)]
pub struct Kept {
    record: Arc<Record>,
    print: u64,
}

impl Kept {
    /// Keeps a record without the fields that no decision reads and that would make each state a
    /// new one. These are the generation (`promises::rises` checks at the decision that it rises),
    /// all reached phases but the last with their times, and the counted durations. The fact that a
    /// wait is counted stays: an agent writes when it begins or ends a wait, and not while it
    /// waits. Decisions read the past only if open hours have an end, and here they have none.
    #[must_use]
    pub fn new(mut record: Record) -> Self {
        record.generation = 0;
        record.tally = Tally::default();
        record.past.clear();
        if let Some(up) = &mut record.upgrade {
            let surplus = up.reached.len().saturating_sub(1);
            up.reached.drain(..surplus);
            for reached in &mut up.reached {
                (reached.at, reached.waited) = (0, 0);
            }
            up.bill = Bill {
                waiting: without_times(&up.bill.waiting),
                ..Bill::default()
            };
        }
        let mut hasher = DefaultHasher::new();
        // Records have no hash of their own; their form on the disk is JSON.
        serde_json::to_vec(&record)
            .unwrap_or_default()
            .hash(&mut hasher);
        Self {
            record: Arc::new(record),
            print: hasher.finish(),
        }
    }

    /// The record.
    #[must_use]
    pub fn record(&self) -> &Record {
        &self.record
    }
}

/// A stopwatch that only runs or does not run.
fn without_times(watch: &Stopwatch) -> Stopwatch {
    let since = watch.since.as_ref().map(|_| Since {
        at: Moment {
            boot: boot_id(0),
            at: SinceBoot(0),
        },
        wall: 0,
    });
    Stopwatch { seconds: 0, since }
}

impl PartialEq for Kept {
    fn eq(&self, other: &Self) -> bool {
        self.print == other.print && *self.record == *other.record
    }
}

impl Eq for Kept {}

impl Hash for Kept {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.print);
    }
}

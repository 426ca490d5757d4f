//! The record as the model keeps it: shared, with its print, so that a state is small to copy and quick to hash.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use upgrade::bill::{Bill, Since, Stopwatch};
use upgrade::tally::Tally;
use upgrade::{Moment, Record, SinceBoot};

use crate::cast::boot_id;

/// A record that does not change any more.
#[derive(Clone, Debug)]
pub struct Kept {
    record: Arc<Record>,
    print: u64,
}

impl Kept {
    /// Keeps a record. Left out is what no decision looks at and what would make each state a new one: the generation (that
    /// it rises is checked when it is decided, in `promises::rises`), of the phases reached all but the last, with their times, and what is counted. That a wait is
    /// counted stays: who begins or ends one writes, who goes on waiting does not. The past is looked at where hours that are open have
    /// an end, and here they have none.
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
        // Records have no hash of their own; what is on the disk is their JSON.
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

/// It runs or it does not.
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

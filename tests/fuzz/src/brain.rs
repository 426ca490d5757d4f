//! The brain, with any readable record and each kind of moment.

mod judged;
mod moments;

use upgrade::decide::RecordRead;
use upgrade::policy::PolicyRead;
use upgrade::{Act, Observation, Policy, Record, RecordStore, decide};

use judged::Decided;
pub use moments::quiet;
use moments::{careful, moments};

/// The maximum growth of a record in one decision, in bytes of JSON.
const GROWTH: usize = 8192;

/// Each input has a decision. Its record can be written and read again, is the next one, and grows
/// only within a limit. Its act is one that its home may take and that such a moment allows.
pub fn check(input: &[u8]) {
    let Some(known) = Known::read(input) else {
        return;
    };
    let policies = policies();
    for seen in moments(&known.record) {
        for read in in_question(&policies, &seen) {
            let (Ok(policy), (next, act)) = (read, known.decided(&seen, read)) else {
                continue;
            };
            judged::judge(&Decided {
                seen: &seen,
                policy,
                before: &known.record,
                after: next.as_ref().unwrap_or(&known.record),
                act: &act,
            });
        }
        if seen.machine.on_trial() {
            continue;
        }
        let paused = seen.with(|seen| seen.node.paused = Some("an audit".into()));
        let (_, act) = known.decided(&paused, &policies[0]);
        judged::while_paused(&paused, &act);
    }
}

/// The steps that begin in these moments, by name, and the phases in which they end. This shows how
/// far the target comes.
#[must_use]
pub fn reached(input: &[u8]) -> Vec<&'static str> {
    let Some(known) = Known::read(input) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for seen in moments(&known.record) {
        for policy in in_question(&policies(), &seen) {
            let (next, act) = known.decided(&seen, policy);
            if let Act::Begin(step) = act {
                names.push(step.name());
            }
            let up = next.and_then(|next| next.upgrade);
            names.extend(up.map(|up| up.phase.name()));
        }
    }
    names
}

fn policies() -> [PolicyRead; 2] {
    [Ok(Policy::default()), Ok(careful())]
}

/// Both policies if both systems exist; otherwise one, because the smoke test in `make test` must
/// only take seconds.
fn in_question<'a>(policies: &'a [PolicyRead; 2], seen: &Observation) -> &'a [PolicyRead] {
    let both = seen.machine.deployments.len() > 1;
    if both { policies } else { &policies[..1] }
}

/// What several decisions on one record share.
struct Known {
    record: Record,
    read: RecordRead,
    length: usize,
}

impl Known {
    fn read(input: &[u8]) -> Option<Self> {
        let record = serde_json::from_slice::<Record>(input).ok();
        // `host::record` reads no record that has no successor.
        let record = record.filter(|record| record.generation < u64::MAX)?;
        Some(Self {
            read: Ok(record.clone()),
            length: serde_json::to_string(&record).unwrap_or_default().len(),
            record,
        })
    }

    fn decided(&self, seen: &Observation, policy: &PolicyRead) -> (Option<Record>, Act) {
        let decision = decide(seen, &self.read, policy);
        let Ok((next, act)) = decision.commit(&mut Written {
            before: &self.record,
            length: self.length,
        });
        assert_ne!(next.as_ref(), Some(&self.record));
        (next, act)
    }
}

/// A disk that returns what was written to it.
struct Written<'a> {
    before: &'a Record,
    /// The length of the record, in bytes of JSON.
    length: usize,
}

impl RecordStore for Written<'_> {
    type Error = std::convert::Infallible;

    fn store(&mut self, record: &Record) -> Result<(), Self::Error> {
        assert!(record.generation > self.before.generation);
        let text = serde_json::to_string(record).unwrap_or_default();
        assert_eq!(serde_json::from_str(&text).ok().as_ref(), Some(record));
        // The record repeats an answered request with its image.
        assert!(text.len() <= 2 * self.length + GROWTH, "{text}");
        Ok(())
    }
}

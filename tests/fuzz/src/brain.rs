//! The brain, given any record that can be read and each kind of moment.

mod judged;
mod moments;

use upgrade::{Act, Journal, Observation, Policy, Record, decide};

use judged::Decided;
pub use moments::quiet;
use moments::{careful, moments};

/// How much one decision may add to a record, in bytes of JSON.
const GROWTH: usize = 8192;

/// There is a decision for each; its record can be written and read again, is the next one, and does not swell; its act is
/// one that its home may take, and that such a moment allows.
pub fn check(input: &[u8]) {
    let Some(record) = read(input) else { return };
    for seen in moments(&record) {
        for policy in [Policy::default(), careful()] {
            let (next, act) = decided(&seen, &record, &policy);
            judged::judge(&Decided {
                seen: &seen,
                policy: &policy,
                before: &record,
                after: next.as_ref().unwrap_or(&record),
                act: &act,
            });
        }
        let paused = Observation {
            paused: Some("an audit".to_owned()),
            ..seen
        };
        let (_, act) = decided(&paused, &record, &Policy::default());
        judged::while_paused(&paused, &act);
    }
}

/// What is begun in these moments, by the steps' names, and the phases that they end in: for whoever asks how far this target comes.
#[must_use]
pub fn reached(input: &[u8]) -> Vec<&'static str> {
    let Some(record) = read(input) else {
        return Vec::new();
    };
    let mut names = Vec::new();
    for seen in moments(&record) {
        for policy in [Policy::default(), careful()] {
            let (next, act) = decided(&seen, &record, &policy);
            if let Act::Begin(step) = act {
                names.push(step.name());
            }
            let up = next.and_then(|next| next.upgrade);
            names.extend(up.map(|up| up.phase.name()));
        }
    }
    names
}

fn read(input: &[u8]) -> Option<Record> {
    let record = serde_json::from_slice::<Record>(input).ok();
    // `host::journal` reads no record behind which there is none.
    record.filter(|record| record.generation < u64::MAX)
}

fn decided(seen: &Observation, record: &Record, policy: &Policy) -> (Option<Record>, Act) {
    let decision = decide(seen, &Ok(record.clone()), &Ok(policy.clone()));
    let Ok((next, act)) = decision.commit(&mut Written { before: record });
    if let Some(next) = &next {
        assert!(next != record);
    }
    (next, act)
}

/// A disk that reads again what it was given.
struct Written<'a> {
    before: &'a Record,
}

impl Journal for Written<'_> {
    type Error = std::convert::Infallible;

    fn store(&mut self, record: &Record) -> Result<(), Self::Error> {
        assert!(record.generation > self.before.generation);
        let text = serde_json::to_string(record).unwrap_or_default();
        assert_eq!(serde_json::from_str(&text).ok().as_ref(), Some(record));
        let before = serde_json::to_string(self.before).unwrap_or_default();
        // A request that is answered is written down once more, with its image.
        assert!(text.len() <= 2 * before.len() + GROWTH, "{text}");
        Ok(())
    }
}

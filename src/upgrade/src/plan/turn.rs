//! What to do about the question on the Node. An upgrade comes first, always; for the rest a plan is told what a request would be.

use super::answer::{refusal, unchanged};
use super::{Plan, Question};
use crate::decide::{RecordRead, wanted};
use crate::observe::Observation;
use crate::policy::PolicyRead;
use crate::reason::Reason;
use crate::record::Record;
use crate::target::{Target, Wanted};

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// This is the answer.
    Answer(Box<Plan>),
    /// The image must be looked at first.
    Look(Look),
}

/// What to look at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Look {
    /// The image.
    pub target: Target,
    /// It is what this node has kept: nothing is to be fetched.
    pub kept: bool,
}

/// What to do about a question, as things are now. It is asked anew while the image is looked at: when it comes to an answer
/// then, the looking is given up.
#[must_use]
pub fn turn(asked: &str, read: &RecordRead, seen: &Observation, policy: &PolicyRead) -> Turn {
    match look(asked, read, seen, policy) {
        Err(reason) => Turn::Answer(Box::new(refusal(asked, seen.turn.wall, &reason))),
        Ok(look) if wanted::runs(&look.target, seen) => {
            Turn::Answer(Box::new(unchanged(asked, seen)))
        }
        Ok(look) => Turn::Look(look),
    }
}

fn look(
    asked: &str,
    read: &RecordRead,
    seen: &Observation,
    policy: &PolicyRead,
) -> Result<Look, Reason> {
    let record = read.as_ref().map_err(Clone::clone)?;
    let question: Question = asked.parse()?;
    nothing_is_under_way(record, seen)?;
    let policy = policy.clone()?;
    let id = question.id.as_ref();
    Ok(Look {
        target: wanted::check(record, &question.image, id, seen, &policy)?,
        kept: question.image == Wanted::Kept,
    })
}

fn nothing_is_under_way(record: &Record, seen: &Observation) -> Result<(), Reason> {
    let open = record.upgrade.as_ref().filter(|up| !up.phase.is_end());
    let phase = match (open, &seen.turn.running) {
        (Some(up), _) => up.phase.name(),
        (None, Some(step)) => step.name(),
        (None, None) => return Ok(()),
    };
    Err(Reason::Busy {
        phase: phase.to_owned(),
    })
}

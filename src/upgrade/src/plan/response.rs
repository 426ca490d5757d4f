//! What to do about the question on the Node. An upgrade always comes first; otherwise the agent
//! answers a plan as it would a request.

use super::answer::{refusal, unchanged};
use super::look::Look;
use super::question::Question;
use super::result::Plan;
use crate::decide::wanted;
use crate::observe::Observation;
use crate::policy::PolicyRead;
use crate::reason::Reason;
use crate::record::{Record, RecordRead};
use crate::target::Wanted;

/// What to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Response {
    /// Give this answer.
    Answer(Box<Plan>),
    /// Inspect the image first.
    Look(Look),
}

/// What to do about a question now. The agent calls this again while it inspects the image, and
/// stops the inspection once the response is an answer.
#[must_use]
pub fn respond(
    asked: &str,
    read: &RecordRead,
    seen: &Observation,
    policy: &PolicyRead,
) -> Response {
    match look(asked, read, seen, policy) {
        Err(reason) => Response::Answer(Box::new(refusal(asked, seen.turn.wall, &reason))),
        Ok(look) if wanted::runs(&look.target, seen) => {
            Response::Answer(Box::new(unchanged(asked, seen)))
        }
        Ok(look) => Response::Look(look),
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

//! `kubectl careen unlock`.

use super::session::Session;
use crate::cli::Unlock;
use crate::diagnose::{Explanation, lock};
use crate::duration;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::lock::{LockView, Seen};
use crate::render::lock::{Done, LockReport};
use crate::render::{Tone, explain, formatted};

/// What the command asks of the API server, in the words of its rules.
const GET: &str = "get leases.coordination.k8s.io careen-control-plane in kube-system";
const GET_NODE: &str = "get nodes";
const DELETE: &str = "delete leases.coordination.k8s.io careen-control-plane in kube-system";

/// The answer if the removal finds no lock.
const GONE: &str = "the lock is gone: its holder or somebody else has removed it meanwhile";

/// The note if no answer to the removal has come.
const PERHAPS: &str = "note: the lock may have been removed anyway; run the command again to check";

/// Shows who holds the lock of the control plane, and removes it after a confirmation.
///
/// # Errors
/// [`Failure::Refused`] if somebody else holds it; see [`Failure`].
pub async fn run(asked: &Unlock, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let Some(seen) = look(session).await? else {
        let explained = lock::free();
        let line = format!("{}\n", explained.headline);
        let report = LockReport::of(None, explained, Done::Nothing);
        return print(&report, &line, session);
    };
    let explained = lock::explain(&seen, duration::seconds(session.console.now()));
    tell(&explained, asked, session)?;
    let removed = remove(asked, &seen.lock, session).await;
    conclude(&seen, explained, removed, session)
}

/// Reads the lock, and the Node of its holder.
async fn look(session: &Session<'_>) -> Result<Option<Seen>, Failure> {
    let lease = session.cluster.lock().await;
    let lease = lease.map_err(|failure| named(GET, failure))?;
    let Some(lock) = lease.and_then(LockView::of) else {
        return Ok(None);
    };
    let Some(holder) = lock.upgrade() else {
        return Ok(Some(Seen::of(lock, None)));
    };
    let node = match session.cluster.node(holder.node()).await {
        Ok(node) => Some(node),
        Err(Failure::Missing(_)) => None,
        Err(other) => return Err(named(GET_NODE, other)),
    };
    Ok(Some(Seen::of(lock, node)))
}

/// Shows the lock before the question. Programs get it at the end, with what became of it.
fn tell(explained: &Explanation, asked: &Unlock, session: &mut Session<'_>) -> Result<(), Failure> {
    let look = session.console.look;
    let text = explain::explain(explained, look);
    if session.is_for_people() {
        return session.console.print(&text);
    }
    if !asked.yes && session.console.is_attended() {
        session.console.say(text.trim_end());
    }
    Ok(())
}

async fn remove(
    asked: &Unlock,
    lock: &LockView,
    session: &mut Session<'_>,
) -> Result<Done, Failure> {
    let holder = &lock.holder;
    if let Some(other) = asked.holder.as_ref().filter(|other| *other != holder) {
        let why = format!("{holder} now holds the lock, not {other}; nothing was removed");
        return Err(Failure::Refused(why));
    }
    if !asked.yes {
        let question = format!("Remove the lock of {holder}?");
        session.console.consent_in_full(&question)?;
    }
    let removed = session.cluster.unlock(&lock.uid, &lock.resource_version);
    match removed.await {
        Ok(()) => Ok(Done::Unlocked),
        Err(Failure::Missing(_)) => Ok(Done::Nothing),
        Err(Failure::Conflict) => Err(Failure::Refused(
            "the lock has changed since it was shown, and stays. Run the command again.".to_owned(),
        )),
        Err(other) => {
            if matches!(other, Failure::Unreachable(_) | Failure::Unwell(_)) {
                session.console.say(PERHAPS);
            }
            Err(named(DELETE, other))
        }
    }
}

/// Says what became of the lock. Programs are told also of a failure.
fn conclude(
    seen: &Seen,
    explained: Explanation,
    removed: Result<Done, Failure>,
    session: &mut Session<'_>,
) -> Result<Exit, Failure> {
    let done = match &removed {
        Ok(done) => *done,
        Err(Failure::Refused(_)) => Done::Refused,
        Err(Failure::Declined(_)) => Done::Declined,
        Err(_) => Done::Failed,
    };
    let line = match done {
        Done::Unlocked => {
            let text = format!("{} does not hold the lock any more", seen.lock.holder);
            format!("\n{}\n", session.console.look.paint(Tone::Good, &text))
        }
        Done::Nothing => format!("\n{GONE}\n"),
        Done::Refused | Done::Declined | Done::Failed => String::new(),
    };
    print(&LockReport::of(Some(seen), explained, done), &line, session)?;
    removed.map(|_| Exit::Done)
}

fn print(report: &LockReport, line: &str, session: &mut Session<'_>) -> Result<Exit, Failure> {
    let text = formatted(session.format, report, |_| line.to_owned())?;
    session.console.print(&text)?;
    Ok(Exit::Done)
}

/// Names the right that is missing, and the role that has it.
fn named(right: &str, failure: Failure) -> Failure {
    let Failure::Forbidden(why) = failure else {
        return failure;
    };
    Failure::Forbidden(format!(
        "cannot {right}: {why}; the ClusterRole careen-unlocker has the rule for it"
    ))
}

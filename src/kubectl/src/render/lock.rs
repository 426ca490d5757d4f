//! The lock of the control plane for programs, and its line below the table of nodes.

use serde::Serialize;
use upgrade::control_plane::Ending;

use super::look::{Look, Tone};
use crate::diagnose::{Explanation, Fact, Finding};
use crate::duration;
use crate::lock::{LockView, Seen};
use crate::view::Ready;

/// What became of the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Done {
    /// The command has removed it.
    Unlocked,
    /// There was none, or it was removed meanwhile.
    Nothing,
    /// Another one holds it than was named or shown. It stays.
    Refused,
    /// The confirmation was not given. It stays.
    Declined,
    /// The server refused the removal, or did not answer it.
    Failed,
}

/// The lock, as `-o json` and `-o yaml` print it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
#[allow(missing_docs)] // The page of the command describes each of them.
pub struct LockReport {
    pub holder: Option<String>,
    pub node: Option<String>,
    pub id: Option<String>,
    pub locked_at: Option<u64>,
    pub phase: Option<String>,
    pub ready: Option<bool>,
    pub over: Option<Ending>,
    pub done: Done,
    pub headline: String,
    pub facts: Vec<Fact>,
    pub findings: Vec<Finding>,
}

impl LockReport {
    /// Reports a lock, or that there is none.
    #[must_use]
    pub fn of(seen: Option<&Seen>, explanation: Explanation, done: Done) -> Self {
        let lock = seen.map(|seen| &seen.lock);
        let upgrade = lock.and_then(LockView::upgrade);
        let node = seen.and_then(|seen| seen.node.as_ref());
        Self {
            holder: lock.map(|lock| lock.holder.clone()),
            node: upgrade.map(|holder| holder.node().to_owned()),
            id: upgrade.map(|holder| holder.id().to_string()),
            locked_at: lock.and_then(|lock| lock.since),
            phase: seen.and_then(Seen::phase).map(str::to_owned),
            ready: node.map(|node| node.ready == Ready::Yes),
            over: seen.and_then(Seen::ending),
            done,
            headline: explanation.headline,
            facts: explanation.facts,
            findings: explanation.findings,
        }
    }
}

/// The line of `status` about the lock.
#[must_use]
pub fn line(lock: &LockView, now: u64, look: Look) -> String {
    let since = lock.since.map(|at| duration::between(at, now));
    let since = since.map(|seconds| format!(" for {}", duration::short(seconds)));
    let text = format!("locked by {}{}", lock.holder, since.unwrap_or_default());
    let name = look.paint(Tone::Faint, "control plane:");
    format!("{name} {}\n", look.paint(Tone::Held, &text))
}

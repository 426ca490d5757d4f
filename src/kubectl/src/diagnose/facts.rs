//! The facts about a node and its upgrade, in addition to the findings.

use serde::Serialize;

use super::case::Case;
use crate::duration;
use crate::expected::{elapsed, in_phase_since, waited};
use crate::render::status::versions;
use crate::standing::{Standing, is_answered};

/// A name and its value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Fact {
    /// The name.
    pub name: &'static str,
    /// The value.
    pub value: String,
}

/// The time of a request that no `managedFields` of the Node show.
const NOT_KNOWN: &str = "not known: no managedFields of the Node have the request";

/// All known facts.
pub(super) fn of(case: &Case<'_>) -> Vec<Fact> {
    let node = case.node;
    let heard = node.heard.map(|at| server(case, duration::seconds(at)));
    let facts = [
        ("image", node.image().map(str::to_owned)),
        ("id", id(case)),
        ("asked", asked(case)),
        ("taken", taken(case)),
        ("kubelet", Some(versions(node))),
        ("in this phase", in_this_phase(case)),
        ("in total", elapsed(node, case.now).map(duration::short)),
        ("of which waiting", waiting(case)),
        ("usual here", usual(case)),
        ("trial boots", tries(case)),
        ("last message", heard),
    ];
    let known = facts.into_iter().filter_map(|(name, value)| {
        let value = value.filter(|value| !value.is_empty())?;
        Some(Fact { name, value })
    });
    known.collect()
}

fn id(case: &Case<'_>) -> Option<String> {
    let asked = case.node.asked.as_ref()?;
    asked.raw.id.clone()
}

/// When the requester last wrote to the Node. A requester that shares its field manager with other
/// writes may have written later than it asked. So this is shown only until the agent has taken the
/// request. Without an entry in `managedFields` that holds the request, no clock shows it.
fn asked(case: &Case<'_>) -> Option<String> {
    let since = case.node.asked.as_ref()?.since;
    let is_open = taken(case).is_none();
    match since {
        Some(since) => is_open.then(|| server(case, duration::seconds(since))),
        None => case.standing.is_waiting().then(|| NOT_KNOWN.to_owned()),
    }
}

/// When the agent took the request that is on the Node.
fn taken(case: &Case<'_>) -> Option<String> {
    case.node
        .asked
        .as_ref()
        .filter(|_| is_answered(case.node))?;
    let status = case.node.reply.status.as_ref()?;
    let at = status.reached.first()?.at;
    Some(format!("{}, by the node's clock", both(case, at)))
}

fn in_this_phase(case: &Case<'_>) -> Option<String> {
    let since = in_phase_since(case.node)?;
    (case.standing == Standing::Working)
        .then(|| duration::short(duration::between(since, case.now)))
}

/// The wait for the window, or for the end of a pause.
fn waiting(case: &Case<'_>) -> Option<String> {
    let seconds = waited(case.node, case.now).filter(|seconds| *seconds > 0)?;
    Some(duration::short(seconds))
}

fn usual(case: &Case<'_>) -> Option<String> {
    let usual = duration::short(case.expected.seconds()?);
    Some(format!("{usual} (median of {})", case.expected.of()))
}

fn tries(case: &Case<'_>) -> Option<String> {
    let status = case.node.reply.status.as_ref();
    let tries = status.filter(|_| !case.standing.is_waiting())?.tries;
    (tries > 0).then(|| tries.to_string())
}

/// A moment of the API server. The table has times of the node's clock too.
fn server(case: &Case<'_>, at: u64) -> String {
    format!("{}, by the API server's clock", both(case, at))
}

/// A moment, and how long ago it was.
fn both(case: &Case<'_>, at: u64) -> String {
    duration::ago(at, case.now)
}

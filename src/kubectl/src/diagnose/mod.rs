//! Why a node is in its state, and what to do. Each finding is a pure function of the data.

pub mod advice;
mod case;
mod ended;
mod facts;
pub mod lock;
mod machine;
mod meanwhile;
pub mod silent;
mod waiting;

use serde::Serialize;

use crate::expected::Expected;
use crate::phase;
use crate::runbook;
use crate::standing::Standing;
use crate::unaccepted::unaccepted;
use crate::view::NodeView;

pub use case::{Case, Finding, Weight};
pub use facts::Fact;

/// The full explanation of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The headline.
    pub headline: String,
    /// The facts.
    pub facts: Vec<Fact>,
    /// The findings, in order of importance.
    pub findings: Vec<Finding>,
    /// The runbook's section for the node's reason, as Markdown.
    pub runbook: Option<String>,
}

/// The checks, in the order in which their findings are shown.
const LOOKS: [fn(&Case<'_>) -> Option<Finding>; 18] = [
    ended::verdict,
    waiting::way_back,
    waiting::hindrance,
    waiting::pause,
    waiting::not_taken,
    waiting::no_answer,
    waiting::malformed,
    waiting::taken_back,
    waiting::behind_another,
    waiting::longer_than_usual,
    waiting::unknown_keys,
    ended::differs,
    machine::away,
    machine::cordon,
    machine::other_version,
    machine::garbled,
    machine::owned,
    ended::nothing,
];

/// Explains a node in its state at `now`, in seconds since 1970.
#[must_use]
pub fn explain(node: &NodeView, now: u64, expected: &Expected) -> Explanation {
    let standing = Standing::of(node);
    let case = Case {
        node,
        standing,
        now,
        expected,
    };
    Explanation {
        headline: headline(&case),
        facts: facts::of(&case),
        findings: LOOKS.iter().filter_map(|look| look(&case)).collect(),
        runbook: section(&case),
    }
}

/// The runbook's section for the reason of the current request. The runbook has none for an unknown
/// code, which may mean anything.
fn section(case: &Case<'_>) -> Option<String> {
    if let Some(word) = unaccepted(case.node) {
        return runbook::section(&word.code);
    }
    let code = case.node.reply.code()?;
    let speaks = case.standing.is_bad() || case.standing == Standing::Working;
    runbook::section(code).filter(|_| speaks)
}

fn headline(case: &Case<'_>) -> String {
    let node = case.node;
    let meaning = match case.is_overtaken() {
        true => "it was upgraded, but the earlier system runs again",
        false => phase::now(node),
    };
    match (case.standing, &node.reply.status) {
        (Standing::Idle, _) => format!("{}: no upgrade was requested", node.name),
        (Standing::Asked, _) => format!("{}: requested, not answered yet", node.name),
        (Standing::Held, _) => format!("{}: requested, and paused", node.name),
        (Standing::Working, Some(status)) => {
            format!(
                "{}: {}, {} %: {meaning}",
                node.name, status.phase, status.percent
            )
        }
        (Standing::Working, None) => format!("{}: an upgrade is under way", node.name),
        (Standing::Upgraded, _) => format!("{}: Upgraded", node.name),
        (Standing::Failed | Standing::Refused | Standing::Halted, _) => {
            format!("{}: {}: {meaning}", node.name, case.standing.word())
        }
    }
}

//! Why a node is where it is, and what to do: each finding is a pure function of what was read.

pub mod advice;
mod ended;
mod facts;
mod machine;
mod meanwhile;
pub mod silent;
mod waiting;

use requests::PhaseName;
use serde::Serialize;

use crate::expected::Expected;
use crate::phase::meaning;
use crate::runbook;
use crate::standing::Standing;
use crate::untaken::untaken;
use crate::view::NodeView;

pub use facts::Fact;

/// How much a finding weighs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Weight {
    /// Something is wrong.
    Bad,
    /// Something waits, perhaps for a person.
    Held,
    /// Good to know.
    Note,
}

/// Something that was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// How much it weighs.
    pub weight: Weight,
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub so: Option<String>,
}

/// All that there is to say of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// One line.
    pub headline: String,
    /// What is known beside it.
    pub facts: Vec<Fact>,
    /// What was found, in the order in which it matters.
    pub findings: Vec<Finding>,
    /// What the runbook says of the reason that the node gives, as Markdown.
    pub runbook: Option<String>,
}

/// What a finding is made of.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The node.
    pub node: &'a NodeView,
    /// Where it stands.
    pub standing: Standing,
    /// Seconds since 1970.
    pub now: u64,
    /// What the past teaches.
    pub expected: &'a Expected,
}

/// Looks, in the order in which their findings are shown.
const LOOKS: [fn(&Case<'_>) -> Option<Finding>; 17] = [
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
    machine::away,
    machine::cordon,
    machine::other_version,
    machine::garbled,
    machine::owned,
    ended::nothing,
];

/// Explains a node as it is `now`, in seconds since 1970.
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

/// Of a reason that speaks of the request that stands. A code that is not known may be anything, and our runbook has nothing of it.
fn section(case: &Case<'_>) -> Option<String> {
    if let Some(word) = untaken(case.node) {
        return runbook::section(&word.code);
    }
    let code = case.node.reply.code()?;
    let speaks = case.standing.is_bad() || case.standing == Standing::Working;
    runbook::section(code).filter(|_| speaks)
}

impl Case<'_> {
    /// Whether it ended well, and the system from before runs again all the same.
    fn is_overtaken(&self) -> bool {
        self.standing == Standing::Failed && self.node.reply.phase() == PhaseName::Upgraded
    }
}

fn headline(case: &Case<'_>) -> String {
    let node = case.node;
    let meaning = match case.is_overtaken() {
        true => "it was upgraded, but the earlier system runs again",
        false => meaning(node.reply.phase()),
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
        (standing, _) => format!("{}: {}: {meaning}", node.name, standing.word()),
    }
}

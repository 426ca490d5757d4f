//! One thing that a node lacks.

use std::collections::BTreeSet;

use crate::cause::Cause;
use crate::policy::Demand;

/// One thing that the node had before the drain and does not have now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lack {
    /// Its name in the policy's `except`.
    pub key: String,
    /// What is missing, in one sentence without a full stop.
    pub what: String,
    /// Where the cause is.
    pub cause: Cause,
    /// A pod that the API server does not have on this node. Its controller may still create it.
    pub may_come: bool,
}

impl Lack {
    /// A difference that stays unless something changes.
    #[must_use]
    pub const fn new(key: String, what: String, cause: Cause) -> Self {
        Self {
            key,
            what,
            cause,
            may_come: false,
        }
    }
}

/// How many names a sentence has.
const NAMED: usize = 5;

/// The first of these names, and how many more there are.
pub(super) fn named(all: &[&str]) -> String {
    let named = all.get(..NAMED).unwrap_or(all).join(", ");
    match all.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

/// What the system had before the drain and does not have now, as `judge` rates and tells it. The
/// node's own files may be the reason, so no image is to blame. Nothing is known of a side that
/// was not looked at.
pub(super) fn gone(
    before: Option<&BTreeSet<String>>,
    now: Option<&BTreeSet<String>>,
    judge: impl Fn(&str) -> (Demand, String),
) -> Vec<(Demand, Lack)> {
    let (Some(before), Some(now)) = (before, now) else {
        return Vec::new();
    };
    let lack = |name: &String| {
        let (demand, what) = judge(name);
        let key = format!("system:{name}");
        (demand, Lack::new(key, what, Cause::Unclear))
    };
    before.difference(now).map(lack).collect()
}

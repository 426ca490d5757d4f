//! Which scenarios a run takes.

use anyhow::{Result, bail};
use sha2::{Digest, Sha256};

use crate::scenario::Scenario;
use crate::scenarios::{ALL, is_on_cluster_api};

/// How many of the others, each in its turn, one commit brings besides the core; sized so that the whole stays within 25 minutes.
const TURN: usize = 1;

/// Those that take no turn yet: written or sharpened, and not seen to pass since. What nobody has seen pass must not fail a commit that
/// has nothing to do with it. Whoever sees one pass takes it out.
const UNSEEN: &[&str] = &["a-daemonset-brings-the-first-agent"];

/// The scenarios that `which` names: one name, `core` (with those whose turn it is) or `all`.
///
/// # Errors
/// When there is no such scenario; the message says where all are listed.
pub fn choose(which: &str, turn_from: Option<&str>) -> Result<Vec<Scenario>> {
    match which {
        "all" => Ok(all()),
        "core" => Ok(core(turn_from)),
        name => match ALL.iter().find(|scenario| scenario.name == name) {
            Some(scenario) => Ok(vec![*scenario]),
            None => bail!("no scenario is called {name:?}; `make vm` lists them all"),
        },
    }
}

/// Those that nobody has seen pass come first: what they find should be known early in a run of an hour and a half.
fn all() -> Vec<Scenario> {
    let (unseen, seen): (Vec<_>, Vec<_>) = ALL.iter().copied().partition(is_unseen);
    [unseen, seen].concat()
}

fn is_unseen(scenario: &Scenario) -> bool {
    UNSEEN.contains(&scenario.name)
}

/// Those on Cluster API take none: its managers are built for a quarter of an hour before, and `make cluster-api` is theirs.
fn takes_turns(scenario: &Scenario) -> bool {
    !is_unseen(scenario) && !is_on_cluster_api(scenario.name)
}

/// The turn walks through all others as commits come, and is the same whenever one commit is tested again.
fn core(turn_from: Option<&str>) -> Vec<Scenario> {
    let (core, others): (Vec<_>, Vec<_>) = ALL.iter().copied().partition(|scenario| scenario.core);
    let Some(commit) = turn_from else { return core };
    let others: Vec<_> = others.into_iter().filter(takes_turns).collect();
    let hash = Sha256::digest(commit);
    let first = usize::from(hash[0]) * 256 + usize::from(hash[1]);
    let turn = (0..TURN.min(others.len())).map(|index| others[(first + index) % others.len()]);
    // Last, for it is left out where the core takes all the time.
    core.iter().copied().chain(turn).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scenarios: &[Scenario]) -> Vec<&'static str> {
        scenarios.iter().map(|scenario| scenario.name).collect()
    }

    #[test]
    fn the_core_has_five_and_no_name_comes_twice() {
        assert_eq!(core(None).len(), 5);
        let mut all = names(ALL);
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), ALL.len());
    }

    #[test]
    fn a_turn_is_the_same_for_the_same_commit_and_never_of_the_core() {
        let turn = core(Some("abc"));
        assert_eq!(names(&turn), names(&core(Some("abc"))));
        let (core, others) = turn.split_at(turn.len() - TURN);
        assert!(others.iter().all(|scenario| !scenario.core));
        assert!(core.iter().all(|scenario| scenario.core));
    }

    #[test]
    fn every_other_scenario_that_was_seen_to_pass_and_needs_no_managers_gets_a_turn() {
        let seen: std::collections::BTreeSet<_> = (0..2000)
            .flat_map(|commit| names(&core(Some(&commit.to_string()))))
            .collect();
        let all = ALL
            .iter()
            .filter(|scenario| scenario.core || takes_turns(scenario));
        assert_eq!(seen, all.map(|scenario| scenario.name).collect());
        assert!(UNSEEN.iter().all(|name| names(ALL).contains(name)));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!(choose("no-such", None).is_err());
    }
}

//! Selects the scenarios of a run.

use anyhow::{Result, bail};
use scenarios::Scenario;
use scenarios::{ALL, POWER_CUT, POWER_CUTS, is_on_cluster_api};
use sha2::{Digest, Sha256};

/// How many of the other scenarios one commit runs in turn besides the core. The whole must stay
/// within 25 minutes.
const TURN: usize = 1;

/// Scenarios that take no turn yet: nobody has seen them pass since they were written or changed.
/// They must not fail an unrelated commit. Remove a scenario here after it has passed.
const UNSEEN: &[&str] = &[];

/// Scenarios that take no turn because they take most of an hour, or need what `prerequisites.sh`
/// builds. `make vm S=all` runs them.
const LONG: &[&str] = &[
    "careen-of-two-ages-on-one-node",
    "control-plane-node-is-upgraded-in-place",
    "four-upgrades-in-a-row",
    "the-metrics-proxy-as-a-pod",
];

/// The scenarios that `which` names. It may be names with commas between them, `core` (with those
/// whose turn it is), or `all`. It may also be `cluster-api`: those on Cluster API or, with a
/// commit, the one whose turn it is.
///
/// # Errors
///
/// Fails when no scenario has that name. The message says how to list them.
pub fn choose(which: &str, turn_from: Option<&str>) -> Result<Vec<Scenario>> {
    match which {
        "all" => Ok(all()),
        "core" => Ok(core(turn_from)),
        "cluster-api" => Ok(on_cluster_api(turn_from, UNSEEN)),
        names => names.split(',').map(called).collect(),
    }
}

fn called(name: &str) -> Result<Scenario> {
    match ALL.iter().find(|scenario| scenario.name == name) {
        Some(scenario) => Ok(*scenario),
        None => bail!("no scenario is called {name:?}; `make vm` lists them all"),
    }
}

/// Scenarios that nobody has seen pass come first, to report their failures early in a run of
/// hours. The longest follow, so that the others run next to them. Started last, they would run
/// alone.
fn all() -> Vec<Scenario> {
    let is_in = |names: &'static [&str]| move |scenario: &Scenario| names.contains(&scenario.name);
    let (unseen, seen): (Vec<_>, Vec<_>) = ALL.iter().copied().partition(is_in(UNSEEN));
    let (long, others): (Vec<_>, Vec<_>) = seen.into_iter().partition(is_in(LONG));
    [unseen, long, others].concat()
}

/// The scenarios on Cluster API take no turn here, because their managers must be built first.
/// `make test` ends with one of them, in turns of their own, if there is time.
fn takes_turns(scenario: &Scenario, unseen: &[&str]) -> bool {
    let excused = unseen.contains(&scenario.name) || LONG.contains(&scenario.name);
    !excused && !is_on_cluster_api(scenario.name)
}

/// The turn rotates through all others from commit to commit. The same commit always gets the same
/// turn.
fn core(turn_from: Option<&str>) -> Vec<Scenario> {
    core_but_for(turn_from, UNSEEN)
}

fn core_but_for(turn_from: Option<&str>, unseen: &[&str]) -> Vec<Scenario> {
    let of_the_core = || ALL.iter().copied().filter(|scenario| scenario.core);
    let Some(commit) = turn_from else {
        return of_the_core().collect();
    };
    let hash = Sha256::digest(commit);
    let sample = sample(hash[2], unseen);
    // The sample cuts the power in the trial too, and three more times.
    let others = |scenario: &Scenario| match sample {
        Some(_) => {
            scenario.name == POWER_CUT || !scenario.core && !POWER_CUTS.contains(&scenario.name)
        }
        None => !scenario.core,
    };
    let core = of_the_core().filter(|scenario| !others(scenario));
    let others: Vec<_> = ALL
        .iter()
        .copied()
        .filter(|scenario| others(scenario) && takes_turns(scenario, unseen))
        .collect();
    let first = usize::from(hash[0]) * 256 + usize::from(hash[1]);
    let turn = (0..TURN.min(others.len())).map(|index| others[(first + index) % others.len()]);
    // The turn is last, because it is skipped if the core takes all the time.
    sample.into_iter().chain(core).chain(turn).collect()
}

/// All of them, or with a commit the one whose turn it is.
fn on_cluster_api(turn_from: Option<&str>, unseen: &[&str]) -> Vec<Scenario> {
    let is_on_it = |scenario: &Scenario| is_on_cluster_api(scenario.name);
    let mut those: Vec<_> = ALL.iter().copied().filter(is_on_it).collect();
    if let Some(commit) = turn_from {
        those.retain(|scenario| !unseen.contains(&scenario.name));
        let turn = usize::from(Sha256::digest(commit)[3]) % those.len().max(1);
        those = those.into_iter().skip(turn).take(1).collect();
    }
    those
}

/// Four power cuts, in turns: before the trial, around it, or on the way back.
fn sample(number: u8, unseen: &[&str]) -> Option<Scenario> {
    let seen: Vec<_> = POWER_CUTS
        .iter()
        .filter(|name| !unseen.contains(name))
        .collect();
    let name = seen.get(usize::from(number).checked_rem(seen.len())?)?;
    ALL.iter().copied().find(|scenario| scenario.name == **name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(scenarios: &[Scenario]) -> Vec<&'static str> {
        scenarios.iter().map(|scenario| scenario.name).collect()
    }

    #[test]
    fn choose_keeps_the_order_of_names_and_reports_an_unknown_one() {
        let two = format!("{},{POWER_CUT}", POWER_CUTS[0]);
        assert_eq!(
            names(&choose(&two, None).unwrap()),
            [POWER_CUTS[0], POWER_CUT]
        );
        let error = choose("core,nothing", None).err().unwrap().to_string();
        assert!(error.contains("\"core\""), "{error}");
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
    fn a_commit_brings_the_same_each_time_and_nothing_twice() {
        for commit in 0..200 {
            let commit = commit.to_string();
            let brought = names(&core(Some(&commit)));
            assert_eq!(brought, names(&core(Some(&commit))));
            let once: std::collections::BTreeSet<_> = brought.iter().collect();
            assert_eq!(once.len(), brought.len(), "{brought:?}");
        }
    }

    /// The single power cut may be the turn, because a sample of four replaces it.
    #[test]
    fn every_commit_brings_the_core_and_its_turn_comes_last() {
        for unseen in [&POWER_CUTS[..], &[]] {
            for commit in 0..200 {
                let brought = core_but_for(Some(&commit.to_string()), unseen);
                let (core, turn) = brought.split_at(5);
                let is_of_the_core =
                    |scenario: &Scenario| scenario.core || POWER_CUTS.contains(&scenario.name);
                assert!(core.iter().all(is_of_the_core), "{:?}", names(&brought));
                assert_eq!(turn.len(), TURN, "{:?}", names(&brought));
            }
        }
    }

    /// The scenarios that 2000 commits run.
    fn brought(unseen: &[&str]) -> std::collections::BTreeSet<&'static str> {
        (0..2000)
            .flat_map(|commit| names(&core_but_for(Some(&commit.to_string()), unseen)))
            .collect()
    }

    #[test]
    fn every_core_or_turn_taking_scenario_gets_selected() {
        for unseen in [UNSEEN, &[]] {
            let all = ALL
                .iter()
                .filter(|scenario| scenario.core || takes_turns(scenario, unseen));
            assert_eq!(brought(unseen), all.map(|scenario| scenario.name).collect());
        }
        let all = names(ALL);
        assert!(UNSEEN.iter().chain(LONG).all(|name| all.contains(name)));
    }

    #[test]
    fn power_cut_sample_replaces_the_single_power_cut_per_commit() {
        for commit in 0..50 {
            let brought = core_but_for(Some(&commit.to_string()), &[]);
            let brought = names(&brought);
            let samples = brought.iter().filter(|name| POWER_CUTS.contains(name));
            assert_eq!(samples.count(), 1, "{brought:?}");
            assert_eq!(brought.len(), 5 + TURN);
            let core = &brought[..5];
            assert!(!core.contains(&POWER_CUT), "{brought:?}");
        }
    }

    #[test]
    fn a_sample_that_nobody_has_seen_pass_is_brought_by_no_commit() {
        let brought = brought(&[POWER_CUTS[1]]);
        assert!(brought.contains(POWER_CUTS[0]) && brought.contains(POWER_CUTS[2]));
        assert!(!brought.contains(POWER_CUTS[1]));
    }

    /// The end of `make test`: an upgrade for one commit, a bad image or a prepared host for another.
    #[test]
    fn commit_selects_one_cluster_api_scenario_and_none_selects_all() {
        let all = names(&choose("cluster-api", None).unwrap());
        assert_eq!(all.len(), 3, "{all:?}");
        let mut brought = std::collections::BTreeSet::new();
        for commit in 0..50 {
            let turn = names(&on_cluster_api(Some(&commit.to_string()), &[]));
            assert_eq!(turn.len(), 1, "{turn:?}");
            brought.extend(turn);
        }
        assert_eq!(brought, all.iter().copied().collect());
        let left = names(&on_cluster_api(Some("any"), &all[..2]));
        assert_eq!(left, [all[2]], "nobody has seen the others pass");
    }

    #[test]
    fn all_starts_with_unseen_and_then_the_longest_scenarios() {
        let all = names(&all());
        let first = [UNSEEN, LONG].concat();
        assert_eq!(all[..first.len()], first);
        assert_eq!(all.len(), ALL.len());
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!(choose("no-such", None).is_err());
    }
}

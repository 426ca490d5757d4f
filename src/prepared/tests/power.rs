//! Power cuts at every change of a host's life: the join, the fence and the cleaning. Whatever was
//! cut, bootstrap data run once, a host that says it is fenced is fenced, and one that says it is
//! available is as it was before the claim.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use life::{Phase, Status};
use prepared::Told;
use rig::tree::Tree;
use rig::{Rig, id, released, wanted};

/// A life needs less than this many passes.
const PASSES: usize = 200;

/// The phases of a life and how often its data ran.
struct Lived {
    phases: Vec<Phase>,
    runs: u32,
    points: usize,
}

/// Lives through one claim with power cuts at these points.
fn live(cuts: &[(usize, bool)]) -> Lived {
    let mut rig = Rig::new();
    let before = rig.tree();
    let mut cuts = cuts.iter();
    let mut next_cut = |rig: &Rig| {
        if let Some((at, torn)) = cuts.next() {
            rig.disk.fail_at(*at, *torn);
        }
    };
    next_cut(&rig);
    let mut phases = Vec::new();
    let mut told = wanted('a');
    for _ in 0..PASSES {
        let passed = rig.pass(&told);
        if rig.disk.is_off() {
            next_cut(&rig);
            rig.machine.start();
            continue;
        }
        let status = passed.unwrap().status;
        hold(&rig, &before, &status);
        if phases.last() != Some(&status.phase) {
            phases.push(status.phase);
        }
        told = following(told, &status);
        if is_over(&status, &told) {
            let runs = rig.machine.runs.get(&id('a')).copied().unwrap_or_default();
            let points = rig.disk.passed.get();
            return Lived {
                phases,
                runs,
                points,
            };
        }
    }
    panic!("the host is stuck: {phases:?}");
}

/// The provider releases a host that has joined, or whose join failed.
fn following(told: Told, status: &Status) -> Told {
    match status.phase {
        Phase::Joined | Phase::Failed => released('a'),
        Phase::Registered
        | Phase::Available
        | Phase::Imaging
        | Phase::Joining
        | Phase::Fencing
        | Phase::Cleaning
        | Phase::Quarantined => told,
    }
}

fn is_over(status: &Status, told: &Told) -> bool {
    let is_released = told.data.is_none();
    is_released && status.phase == Phase::Available && status.observed_claim == Some(id('a'))
}

fn hold(rig: &Rig, before: &Tree, status: &Status) {
    let runs = rig.machine.runs.values().max().copied().unwrap_or_default();
    assert!(runs <= 1, "bootstrapped {runs} times");
    if status.phase == Phase::Available {
        assert_eq!(&rig.tree(), before, "available and not as before");
    }
    if status.phase.is_fenced() && status.observed_claim == Some(id('a')) {
        assert!(!rig.machine.kubelet && !rig.machine.pods, "{status:?}");
        assert!(!rig.has("/etc/kubernetes/kubelet.conf"), "{status:?}");
    }
}

#[test]
fn a_life_without_a_cut_ends_as_it_began() {
    let lived = live(&[]);
    assert_eq!(lived.runs, 1);
    let expected = [
        Phase::Registered,
        Phase::Imaging,
        Phase::Joining,
        Phase::Joined,
        Phase::Fencing,
        Phase::Cleaning,
        Phase::Available,
    ];
    let mut phases = lived.phases;
    phases.dedup();
    assert_eq!(phases, expected);
}

#[test]
fn a_power_cut_at_each_change_breaks_no_promise() {
    let points = live(&[]).points;
    assert!(points > 40, "{points} points are no life");
    let mut failed = 0;
    for at in 0..points {
        for torn in [false, true] {
            let lived = live(&[(at, torn)]);
            failed += u32::from(lived.phases.contains(&Phase::Failed));
        }
    }
    assert!(failed > 0, "no cut was within the join");
}

#[test]
fn two_power_cuts_break_no_promise() {
    let points = live(&[]).points;
    for first in (0..points).step_by(3) {
        for later in [1, 2, 5, 11] {
            live(&[(first, true), (first + later, false)]);
        }
    }
}

#[test]
fn a_join_that_fails_is_cleaned_too() {
    let mut rig = Rig::new();
    rig.machine.join_works = false;
    let before = rig.tree();
    let mut told = wanted('a');
    let mut reason = "";
    for _ in 0..PASSES {
        let status = rig.pass(&told).unwrap().status;
        hold(&rig, &before, &status);
        if status.phase == Phase::Failed {
            reason = status.reason;
        }
        told = following(told, &status);
        if is_over(&status, &told) {
            assert_eq!(reason, "JoinFailed");
            return;
        }
    }
    panic!("the host is stuck");
}

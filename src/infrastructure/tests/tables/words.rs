//! The conditions of a machine.

use infrastructure::{Phase, Wanted, Word, words};

use crate::scene::Scene;

fn said(scene: &Scene) -> Vec<(&'static str, Word)> {
    words(&scene.machine, scene.host.as_ref(), &scene.decide()).into()
}

/// Ready, HostClaimed, ImageReady, Bootstrapped, NodeMatches as letters.
fn letters(scene: &Scene) -> String {
    let letter = |(_, word): (&str, Word)| match word {
        Word::True => 'T',
        Word::False => 'F',
        Word::Unknown => '?',
    };
    said(scene).into_iter().take(5).map(letter).collect()
}

#[test]
fn conditions_become_true_one_after_the_other() {
    assert_eq!(letters(&Scene::new()), "FF???");
    assert_eq!(letters(&Scene::named()), "FF???");
    assert_eq!(letters(&Scene::claimed()), "FTF??");
    assert_eq!(letters(&Scene::at(Phase::Imaging)), "FTF??");
    assert_eq!(letters(&Scene::at(Phase::Failed)), "FTF??");
    assert_eq!(letters(&Scene::at(Phase::Joining)), "FTTF?");
    assert_eq!(letters(&Scene::committed(Phase::Joined)), "FTTTF");
    assert_eq!(letters(&Scene::running()), "TTTTT");
}

#[test]
fn machine_that_is_given_back_is_not_ready() {
    assert_eq!(letters(&Scene::deleted()), "FTTTT");
    let by_a_person = Scene::running().with(|s| s.claim_mut().wanted = Wanted::Released);
    assert_eq!(letters(&by_a_person), "FTTTT");
}

#[test]
fn pause_is_said() {
    let paused = Scene::running().with(|s| s.machine.paused = Some("Cluster c".into()));
    assert!(said(&paused).contains(&("Paused", Word::True)));
    assert!(said(&Scene::running()).contains(&("Paused", Word::False)));
}

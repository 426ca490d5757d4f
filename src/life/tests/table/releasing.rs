//! From the release of a claim to a clean host.

use life::{
    Act, Agent, Checks, Claimed, Clean, Fence, Observation, Phase, Record, Release, Stage, Stay,
    Step, Wanted, status,
};

use crate::scene::{at, boot, bootstrapping, by, claim, claimed, id, of, released, seen, stages};
use crate::{look, row};

#[test]
fn from_the_release_to_a_clean_host() {
    let of = |stage, seen| {
        (
            at(stage),
            Observation {
                claimed: by(released('a')),
                ..seen
            },
        )
    };
    let go = |name: &str, (record, seen): (Record, Observation), stage: &str, act: &str| {
        row(name, record, seen, stage, act);
    };
    let open = || Observation {
        fence: Fence::Open(vec!["kubelet".into()]),
        ..seen()
    };
    let busy = || Observation {
        agent: Agent::Busy("Trial".into()),
        ..seen()
    };
    let next = || Observation {
        boot: boot(3),
        ..seen()
    };
    let red = || Observation {
        checks: Checks::Red(vec!["x".into()]),
        ..next()
    };
    let clean = |clean| Observation { clean, ..seen() };
    let cleaned = || Stage::Cleaned { boot: boot(2) };
    go(
        "from the join",
        of(bootstrapping(), open()),
        "Fencing",
        "look",
    );
    go("joined", of(Stage::Joined, open()), "Fencing", "look");
    go("open", of(Stage::Fencing, open()), "Fencing", "Fence");
    go("whole", of(Stage::Fencing, seen()), "Fenced", "look");
    go("open again", of(Stage::Fenced, open()), "Fenced", "Fence");
    go("agent busy", of(Stage::Fenced, busy()), "Fenced", "wait");
    go(
        "still asked",
        of(
            Stage::Fenced,
            Observation {
                asked: true,
                ..busy()
            },
        ),
        "Fenced",
        "WithdrawImage",
    );
    go("fenced", of(Stage::Fenced, seen()), "Cleaning", "look");
    go("idle", of(Stage::Cleaning, seen()), "Cleaning", "Clean");
    go(
        "runs",
        of(Stage::Cleaning, clean(Clean::Running(900))),
        "Cleaning",
        "wait",
    );
    go(
        "hangs",
        of(Stage::Cleaning, clean(Clean::Running(901))),
        "Cleaning",
        "EndClean",
    );
    go(
        "ended",
        of(Stage::Cleaning, clean(Clean::Ended)),
        "Cleaned",
        "look",
    );
    go("same boot", of(cleaned(), seen()), "Cleaned", "Reboot");
    go(
        "next boot",
        of(
            cleaned(),
            Observation {
                checks: Checks::NotRun,
                ..next()
            },
        ),
        "Cleaned",
        "Check",
    );
    go("green", of(cleaned(), next()), "none", "look");
    go("red", of(cleaned(), red()), "Cleaning", "look");
}

#[test]
fn a_host_that_stays_dirty_is_quarantined() {
    let stay = Stay {
        cleanings: 2,
        stage: Stage::Cleaned { boot: boot(1) },
        ..Stay::new(released('a'))
    };
    let red = Observation {
        checks: Checks::Red(vec!["x".into()]),
        ..claimed(released('a'))
    };
    let decision = look(of(stay), &red);
    let record = decision.record.unwrap();
    let said = status(&Ok(record.clone()), &red);
    assert_eq!(
        (said.phase, said.reason),
        (Phase::Quarantined, "CleaningFailed")
    );
    assert!(
        said.message.contains("x is still there"),
        "{}",
        said.message
    );
    row("waits", record.clone(), red.clone(), "Quarantined", "wait");
    let word = Observation {
        asked_to_clean: true,
        ..red
    };
    row("a person's word", record, word, "Cleaning", "look");
}

#[test]
fn a_kept_host_is_fenced_and_waits_for_a_person() {
    let mut kept = released('a');
    kept.release = Release::Keep;
    let record = of(Stay {
        stage: Stage::Fenced,
        ..Stay::new(kept.clone())
    });
    row("kept", record, claimed(kept), "Quarantined", "look");
}

#[test]
fn a_host_that_used_no_data_is_free_at_once() {
    for stage in [Stage::Imaging, Stage::Ready] {
        let asked = Observation {
            asked: true,
            ..claimed(released('a'))
        };
        let name = serde_json::to_value(&stage).unwrap()["name"]
            .as_str()
            .unwrap()
            .to_owned();
        row("asked", at(stage.clone()), asked, &name, "WithdrawImage");
        let busy = Observation {
            agent: Agent::Busy("Trial".into()),
            ..claimed(released('a'))
        };
        row("busy", at(stage.clone()), busy, &name, "wait");
        let decision = look(at(stage.clone()), &claimed(released('a')));
        let record = decision.record.unwrap();
        assert!(record.stay.is_none() && record.has_ended(&id('a')));
        let gone = look(at(stage), &seen()).record.unwrap();
        assert!(
            gone.stay.is_none() && !gone.has_ended(&id('a')),
            "it may come back"
        );
    }
}

/// Once bootstrap data were used, nothing but the host's own claim with `wanted: Released` moves it
/// towards the fence.
#[test]
fn absence_of_a_claim_is_never_an_order() {
    let answers = [
        Claimed::No,
        Claimed::Unknown("404".to_owned()),
        by(claim('a')),
        by(claim('b')),
        by(released('b')),
    ];
    for stage in [bootstrapping(), Stage::Joined] {
        for claimed in answers.clone() {
            let seen = Observation { claimed, ..seen() };
            let decision = look(at(stage.clone()), &seen);
            let next = decision.record.unwrap_or_else(|| at(stage.clone()));
            let stage = next.stay.unwrap().stage;
            assert!(
                matches!(stage, Stage::Bootstrapping { .. } | Stage::Joined),
                "{seen:?}"
            );
            assert!(!matches!(
                decision.act,
                Act::Do(Step::Fence(_) | Step::Clean(_))
            ));
        }
    }
}

#[test]
fn a_release_is_never_taken_back() {
    for stage in stages() {
        let record = of(Stay {
            stage,
            ..Stay::new(released('a'))
        });
        let decision = look(record.clone(), &claimed(claim('a')));
        if let Some(stay) = decision.record.unwrap_or(record).stay {
            assert_eq!(stay.claim.wanted, Wanted::Released);
        }
    }
}

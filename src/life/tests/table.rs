//! The decisions as tables: what is remembered and seen, what follows.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use life::{
    Act, Agent, Checks, Claimed, Clean, Data, Decision, Fence, Image, Join, Observation, Phase,
    Reason, Record, Release, Running, Sentinel, Stage, Stay, Step, Wanted, decide, status,
};
use scene::{at, boot, bootstrapping, by, claim, claimed, hash, id, of, released, seen, stages};
use upgrade::SinceBoot;

fn look(record: Record, seen: &Observation) -> Decision {
    decide(&Ok(record), seen)
}

/// The name of the stage that a decision leads to, and its act.
fn short(decision: &Decision, before: &Record) -> (String, String) {
    let record = decision.record.as_ref().unwrap_or(before);
    let stage = record.stay.as_ref().map_or("none".to_owned(), |stay| {
        let stage = serde_json::to_value(&stay.stage).unwrap();
        let failed = stay.failed.as_ref().map_or("", Reason::code);
        format!("{}{failed}", stage["name"].as_str().unwrap())
    });
    let act = match &decision.act {
        Act::Wait => "wait",
        Act::Look => "look",
        Act::Do(step) => step.name(),
    };
    (stage, act.to_owned())
}

fn row(name: &str, record: Record, seen: Observation, stage: &str, act: &str) {
    let decision = look(record.clone(), &seen);
    let found = short(&decision, &record);
    assert_eq!(found, (stage.to_owned(), act.to_owned()), "{name}");
    let changed = decision
        .record
        .as_ref()
        .is_some_and(|next| next.generation == record.generation + 1);
    assert_eq!(decision.record.is_some(), changed, "{name}: generation");
}

fn data(letter: char, digest: &str) -> Data {
    Data::For {
        claim: id(letter),
        hash: digest.repeat(64).parse().unwrap(),
    }
}

#[test]
fn a_host_without_a_claim() {
    let none = Record::default;
    let ended = || {
        let mut record = Record::default();
        record.end(id('a'));
        record
    };
    let red = || Checks::Red(vec!["/etc/cni/net.d".to_owned()]);
    let busy = || Agent::Busy("Trial".to_owned());
    let of_claim = || claimed(claim('a'));
    row("free", none(), seen(), "none", "wait");
    row(
        "not checked",
        none(),
        Observation {
            checks: Checks::NotRun,
            ..of_claim()
        },
        "none",
        "Check",
    );
    row(
        "not clean",
        none(),
        Observation {
            checks: red(),
            ..of_claim()
        },
        "none",
        "wait",
    );
    row(
        "agent busy",
        none(),
        Observation {
            agent: busy(),
            ..of_claim()
        },
        "none",
        "wait",
    );
    row(
        "an old request",
        none(),
        Observation {
            asked: true,
            ..of_claim()
        },
        "none",
        "WithdrawImage",
    );
    row("claimed", none(), of_claim(), "Imaging", "look");
    row(
        "unread",
        none(),
        Observation {
            claimed: Claimed::Unknown("403".into()),
            ..seen()
        },
        "none",
        "wait",
    );
    row("ended", ended(), of_claim(), "none", "wait");
    row(
        "another one",
        ended(),
        claimed(claim('b')),
        "Imaging",
        "look",
    );
    row(
        "released at once",
        none(),
        claimed(released('a')),
        "none",
        "look",
    );
    row(
        "released, not clean",
        none(),
        Observation {
            checks: red(),
            ..claimed(released('a'))
        },
        "none",
        "look",
    );
    row(
        "released and ended",
        ended(),
        claimed(released('a')),
        "none",
        "wait",
    );
}

#[test]
fn from_the_claim_to_the_data() {
    let imaging = || at(Stage::Imaging);
    let ready = || at(Stage::Ready);
    let of_claim = || claimed(claim('a'));
    let with = |image| Observation {
        image,
        asked: true,
        ..of_claim()
    };
    let right = || with(Image::Right);
    row("not asked", imaging(), of_claim(), "Imaging", "AskImage");
    row("asked", imaging(), with(Image::Unasked), "Imaging", "wait");
    row(
        "under way",
        imaging(),
        with(Image::UnderWay("Trial".into())),
        "Imaging",
        "wait",
    );
    row(
        "in another boot",
        imaging(),
        Observation {
            asked: false,
            ..with(Image::UnderWay("Trial".into()))
        },
        "Imaging",
        "AskImage",
    );
    row(
        "bad",
        imaging(),
        with(Image::Failed("Panic".into())),
        "ImagingImageFailed",
        "WithdrawImage",
    );
    row("right", imaging(), right(), "Ready", "look");
    row(
        "fell back later",
        ready(),
        with(Image::Unasked),
        "Imaging",
        "look",
    );
    row("no data", ready(), right(), "Ready", "wait");
    row(
        "of another claim",
        ready(),
        Observation {
            data: data('b', "7"),
            ..right()
        },
        "Ready",
        "wait",
    );
    row(
        "rewritten",
        ready(),
        Observation {
            data: data('a', "8"),
            ..right()
        },
        "Ready",
        "wait",
    );
    row(
        "data",
        ready(),
        Observation {
            data: data('a', "7"),
            ..right()
        },
        "Bootstrapping",
        "Join",
    );
    let refused = Data::Refused {
        claim: id('a'),
        hash: hash(),
        detail: "users".into(),
    };
    row(
        "refused",
        ready(),
        Observation {
            data: refused,
            ..right()
        },
        "ReadyBootstrapRefused",
        "wait",
    );
    let mut free = claim('a');
    free.image = None;
    row(
        "any image",
        of(Stay::new(free.clone())),
        claimed(free),
        "Ready",
        "look",
    );
}

#[test]
fn a_claim_without_an_image_needs_no_agent() {
    let mut free = claim('a');
    free.image = None;
    let record = of(Stay {
        stage: Stage::Ready,
        ..Stay::new(free.clone())
    });
    let seen = Observation {
        data: data('a', "7"),
        ..claimed(free)
    };
    row("data", record, seen, "Bootstrapping", "Join");
}

#[test]
fn while_the_data_run_and_after() {
    let record = || at(bootstrapping());
    let with = |running, sentinel, ended: Option<&str>| Observation {
        join: Join {
            running,
            sentinel,
            ended: ended.map(str::to_owned),
        },
        ..claimed(claim('a'))
    };
    let (yes, no) = (Running::Yes, Running::No);
    let (there, missing) = (Sentinel::There, Sentinel::Missing);
    let late = |seen: Observation| Observation {
        now: SinceBoot(1_201_000),
        ..seen
    };
    row(
        "runs",
        record(),
        with(yes, missing, None),
        "Bootstrapping",
        "wait",
    );
    row(
        "runs on after the sentinel",
        record(),
        with(yes, there, None),
        "Bootstrapping",
        "wait",
    );
    row(
        "late",
        record(),
        late(with(yes, missing, None)),
        "BootstrappingJoinTimedOut",
        "EndJoin",
    );
    row(
        "joined",
        record(),
        with(no, there, Some("")),
        "Joined",
        "look",
    );
    row(
        "joined, seen by another careen-host",
        record(),
        with(no, there, None),
        "Joined",
        "look",
    );
    row(
        "failed",
        record(),
        with(no, missing, Some("no token")),
        "BootstrappingJoinFailed",
        "wait",
    );
    row(
        "nobody knows",
        record(),
        with(no, missing, None),
        "BootstrappingBootstrapInterrupted",
        "wait",
    );
    let other_boot = Observation {
        boot: boot(3),
        ..with(yes, missing, None)
    };
    row(
        "runs in another boot",
        record(),
        other_boot,
        "BootstrappingJoinTimedOut",
        "EndJoin",
    );
}

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

#[test]
fn without_a_readable_record_nothing_is_done() {
    let why = Reason::RecordUnread {
        detail: "torn".to_owned(),
    };
    let decision = decide(&Err(why.clone()), &claimed(released('a')));
    assert_eq!((decision.record, decision.act), (None, Act::Wait));
    let said = status(&Err(why), &seen());
    assert_eq!((said.phase, said.observed_claim), (Phase::Failed, None));
    assert!(!said.phase.is_fenced());
}

#[test]
fn the_status_names_the_reason() {
    let said = |record: Record, seen: &Observation| {
        let said = status(&Ok(record), seen);
        (said.phase, said.reason)
    };
    let mut ended = Record::default();
    ended.end(id('a'));
    let unread = Observation {
        claimed: Claimed::Unknown("401".into()),
        ..seen()
    };
    for (record, seen, expected) in [
        (Record::default(), seen(), (Phase::Available, "")),
        (
            ended.clone(),
            claimed(released('a')),
            (Phase::Available, ""),
        ),
        (ended, claimed(claim('a')), (Phase::Failed, "ClaimSpent")),
        (
            at(Stage::Imaging),
            claimed(claim('a')),
            (Phase::Imaging, ""),
        ),
        (
            at(Stage::Ready),
            claimed(claim('a')),
            (Phase::Joining, "AwaitsData"),
        ),
        (
            at(bootstrapping()),
            claimed(claim('a')),
            (Phase::Joining, ""),
        ),
        (at(Stage::Joined), claimed(claim('a')), (Phase::Joined, "")),
        (at(Stage::Joined), seen(), (Phase::Joined, "ClaimGone")),
        (
            at(Stage::Joined),
            claimed(claim('b')),
            (Phase::Joined, "ClaimForeign"),
        ),
        (at(Stage::Joined), unread, (Phase::Joined, "ClaimUnread")),
        (
            at(Stage::Fencing),
            claimed(released('a')),
            (Phase::Fencing, ""),
        ),
        (
            at(Stage::Fenced),
            claimed(released('a')),
            (Phase::Cleaning, ""),
        ),
    ] {
        assert_eq!(said(record.clone(), &seen), expected, "{record:?}");
    }
}

#[test]
fn a_host_is_clean_only_if_no_claim_has_used_it() {
    for stage in stages() {
        let unused = matches!(stage, Stage::Imaging | Stage::Ready);
        let said = status(&Ok(at(stage)), &claimed(claim('a')));
        assert_eq!(
            said.conditions[0].status == "True",
            unused,
            "{:?}",
            said.phase
        );
    }
}

/// The CRD of CareenHost allows 4096 characters (provider/src/kinds/host.rs).
#[test]
fn no_message_is_longer_than_the_crd_allows() {
    let lines = "ä".repeat(4096);
    let failed = |detail: &str| {
        let why = Reason::JoinFailed {
            detail: detail.to_owned(),
        };
        let mut stay = at(bootstrapping()).stay.unwrap();
        stay.failed = Some(why);
        status(&Ok(of(stay)), &claimed(claim('a')))
    };
    let said = failed(&lines);
    assert_eq!(said.message.chars().count(), 4096);
    assert!(said.message.starts_with("…ä"), "{}", &said.message[..8]);
    let action = "ä. Correct the cause and replace the Machine.";
    assert!(said.message.ends_with(action), "the end says what to do");
    let around = "the join failed: . Correct the cause and replace the Machine.".len();
    let whole = failed(&"ä".repeat(4096 - around)).message;
    assert_eq!(whole.chars().count(), 4096);
    assert!(whole.starts_with("the join failed: "), "it fits");

    let found: Vec<String> = (0..200)
        .map(|at| format!("/var/lib/left/{at:040}"))
        .collect();
    let checks = Checks::Red(found);
    let red = Observation { checks, ..seen() };
    let said = status(&Ok(Record::default()), &red);
    let conditions = said.conditions.iter().map(|one| &one.message);
    for message in conditions.chain([&said.message]) {
        assert!(message.chars().count() <= 4096, "{}", message.len());
    }
    assert!(said.conditions[0].message.ends_with("199"));
}

//! From a free host to one that has joined.

use life::{
    Agent, Checks, Claimed, Data, Image, Join, Observation, Record, Running, Sentinel, Stage, Stay,
};
use upgrade::SinceBoot;

use crate::row;
use crate::scene::{at, boot, bootstrapping, claim, claimed, hash, id, of, released, seen};

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

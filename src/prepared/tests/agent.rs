//! The image of a claim, as careen-agent's record says.
#![allow(clippy::unwrap_used)]

mod rig;

use life::{Agent, Claim, Image};
use prepared::{Disk, agent};
use rig::{Rig, claim, id};
use upgrade::record::Refused;
use upgrade::{BootId, Deployment, Phase, RawRequest, Reason, Record, Upgrade};

fn deployment() -> Deployment {
    serde_json::from_value(serde_json::json!({
        "digest": "a".repeat(64), "serial": 0, "stateroot": "os", "bootcsum": "b".repeat(64), "pinned": false,
    }))
    .unwrap()
}

fn record(name: &str, phase: Phase) -> Record {
    let request = RawRequest::scheduled("ostree:careen:os/new");
    let target = "ostree:careen:os/new".parse().unwrap();
    let mut upgrade = Upgrade::new(name.parse().unwrap(), request, target, deployment());
    upgrade.phase = phase;
    Record {
        upgrade: Some(upgrade),
        ..Record::default()
    }
}

fn away() -> Reason {
    Reason::DeployDied {
        verb: "fetch".to_owned(),
        detail: "no route".to_owned(),
    }
}

#[test]
fn an_image_is_right_only_if_the_agent_says_so() {
    let own = "host-aaaaaaaa";
    let boot: BootId = "1".parse().unwrap();
    let read = |record: Record| agent::image(&Ok(record), &id('a'));
    assert_eq!(read(Record::default()), Image::Unasked);
    assert_eq!(read(record("another", Phase::Upgraded)), Image::Unasked);
    assert_eq!(read(record(own, Phase::Upgraded)), Image::Right);
    assert!(matches!(
        read(record(own, Phase::Trial { boot })),
        Image::UnderWay(_)
    ));
    assert!(matches!(
        read(record(own, Phase::Failed { reason: away() })),
        Image::Failed(_)
    ));
    let refused = Refused {
        id: Some(own.parse().unwrap()),
        reason: away(),
    };
    let refused = Record {
        refused: Some(refused),
        ..Record::default()
    };
    assert!(matches!(read(refused), Image::Failed(_)));
    assert!(matches!(
        agent::image(&Err(away()), &id('a')),
        Image::Unknown(_)
    ));
}

#[test]
fn an_agent_with_an_upgrade_under_way_is_busy() {
    assert_eq!(agent::at_rest(&Ok(Record::default())), Agent::AtRest);
    assert_eq!(
        agent::at_rest(&Ok(record("x", Phase::Upgraded))),
        Agent::AtRest
    );
    let halted = record("x", Phase::Halted { reason: away() });
    for busy in [Ok(halted), Ok(record("x", Phase::Drained)), Err(away())] {
        assert!(matches!(agent::at_rest(&busy), Agent::Busy(_)), "{busy:?}");
    }
}

#[test]
fn the_request_names_image_version_and_claim() {
    let rig = Rig::new();
    let disk: &dyn Disk = rig.disk.as_ref();
    let wanted = Claim {
        image: Some("docker://r/os@sha256:1".to_owned()),
        version: Some("v1.36.3".parse().unwrap()),
        ..claim('a')
    };
    agent::ask(&rig.paths, disk, &wanted).unwrap();
    assert!(agent::is_asked(&rig.paths));
    let request: RawRequest = serde_json::from_str(&rig.read("/run/careen/host-request")).unwrap();
    assert_eq!(request.id.as_deref(), Some("host-aaaaaaaa"));
    assert_eq!(request.kubernetes.as_deref(), Some("v1.36.3"));
    assert_eq!(request.image, wanted.image);
    agent::withdraw(&rig.paths, disk).unwrap();
    assert!(!agent::is_asked(&rig.paths));
}

//! An image from a registry on its way through the record.
#![allow(clippy::unwrap_used, clippy::panic)]

mod scene;

use scene::*;
use upgrade::*;

fn from_a_registry(phase: Phase) -> Record {
    let image = format!("docker://registry.example.com/os@sha256:{}", "e".repeat(64));
    let mut record = upgrade_in(phase);
    let up = record.upgrade.as_mut().unwrap();
    up.request = raw(&image);
    up.attempt.saved = true;
    up.target = format!("{image}@{}", digest('b')).parse().unwrap();
    record
}

fn seen(record: &Record) -> Observation {
    let request = record.upgrade.as_ref().unwrap().request.clone();
    asked().with(|seen| {
        seen.node.request = Asked::This(request);
        seen.machine.deployments = on_trial().machine.deployments;
    })
}

/// A policy that allows the registry.
fn allowed() -> PolicyRead {
    let mut policy = Policy::default();
    policy.registry.allowed = vec!["registry.example.com".into()];
    Ok(policy)
}

fn target(record: &Record) -> String {
    record.upgrade.as_ref().unwrap().target.to_string()
}

#[test]
fn armed_record_stores_a_container_target_as_a_kept_ostree_ref() {
    let drained = from_a_registry(Phase::Drained);
    let (armed, act) = next_with(&seen(&drained), &drained, &allowed());
    assert_eq!(begun(&act), Some("Arm"));
    assert_eq!(target(&armed), format!("ostree:kept:kept@{}", digest('b')));
    let words = &armed.upgrade.unwrap().request.image;
    assert!(words.as_ref().unwrap().starts_with("docker://"));
}

#[test]
fn armed_image_is_fetched_again_from_the_requested_source() {
    let drained = from_a_registry(Phase::Drained);
    let (mut armed, _) = next_with(&seen(&drained), &drained, &allowed());
    armed.upgrade.as_mut().unwrap().phase = Phase::Accepted;
    let (_, act) = next_with(&seen(&drained), &armed, &allowed());
    let Act::Begin(Step::Fetch { target }) = act else {
        panic!("{act:?}")
    };
    assert_eq!(target.to_string(), self::target(&drained));
}

//! A host with a claim, until the claim goes.

use infrastructure::{Holder, HostAct, Phase, Wanted};

use super::{Scene, check, free, orphan, released};
use crate::scene::{ID, NOW, OTHER};

/// A fleet has thousands of them, and each look costs four reads.
#[test]
fn claimed_host_is_looked_at_rarely_unless_a_word_waits() {
    let used = || orphan().with(|s| s.holder = Holder::Machine);
    assert_eq!(used().decide().again, Some(900));
    let word = used().with(|s| s.host.forced = Some(ID.to_owned()));
    assert_eq!(word.decide().again, Some(60));
}

#[test]
fn claim_goes_when_the_host_is_clean_and_its_machine_is_gone() {
    let free = HostAct::RemoveClaim { cordon: false };
    assert_eq!(released(Phase::Available).decide().act, Some(free));
    for phase in Phase::ALL
        .into_iter()
        .filter(|phase| *phase != Phase::Available)
    {
        assert_eq!(released(phase).decide().act, None, "{phase:?}");
    }
    check(vec![
        (
            "its machine waits for the fence",
            released(Phase::Available).with(|s| s.holder = Holder::Machine),
            "-",
            "Leaving",
        ),
        (
            "not known who has it",
            released(Phase::Available).with(|s| s.holder = Holder::Unread),
            "-",
            "Leaving",
        ),
        (
            "available after another claim",
            released(Phase::Available).with(|s| s.host.observed = Some(OTHER.into())),
            "-",
            "Leaving",
        ),
        (
            "never taken up",
            released(Phase::Available).with(|s| s.host.observed = None),
            "-",
            "Leaving",
        ),
        (
            "serves another claim",
            released(Phase::Joined).with(|s| s.host.observed = Some(OTHER.into())),
            "RemoveClaim",
            "Moving",
        ),
    ]);
    let lost = released(Phase::Available).with(|s| s.host.claim.as_mut().unwrap().lost = true);
    assert_eq!(
        lost.decide().act,
        Some(HostAct::RemoveClaim { cordon: true })
    );
}

/// A leader wrote the claim after the machine had taken another host.
#[test]
fn claim_that_was_never_used_is_released_at_once() {
    let unused = |phase, observed: Option<&str>| {
        let observed = observed.map(str::to_owned);
        orphan().with(|s| {
            s.host.phase = phase;
            s.host.observed = observed;
        })
    };
    let with_data = |mut scene: Scene| {
        scene.host.claim.as_mut().unwrap().bootstrap_hash = Some("f".into());
        scene
    };
    check(vec![
        (
            "not taken up",
            unused(Phase::Available, None),
            "Release",
            "Moving",
        ),
        (
            "imaging",
            unused(Phase::Imaging, Some(ID)),
            "Release",
            "Moving",
        ),
        (
            "joining",
            unused(Phase::Joining, Some(ID)),
            "MarkOrphan",
            "MayBeOrphan",
        ),
        (
            "data given",
            with_data(unused(Phase::Imaging, Some(ID))),
            "MarkOrphan",
            "MayBeOrphan",
        ),
        (
            "its machine is on the way to another management cluster",
            unused(Phase::Imaging, Some(ID)).with(|s| s.paused = true),
            "-",
            "NotJudged",
        ),
    ]);
}

/// The host was off, and is back.
#[test]
fn word_goes_when_the_host_has_answered_after_it() {
    let said = |since: i64| {
        orphan().with(|s| {
            s.holder = Holder::Machine;
            s.host.forced = Some(ID.into());
            s.word_since = Some(since);
        })
    };
    check(vec![
        ("answered since", said(NOW - 11), "ForgetWord", "Moving"),
        ("answered just before", said(NOW - 10), "-", "InUse"),
        (
            "never seen to answer",
            said(NOW - 11).with(|s| s.host.renewed = false),
            "-",
            "InUse",
        ),
        (
            "released",
            said(NOW - 11).with(|s| s.host.claim.as_mut().unwrap().wanted = Wanted::Released),
            "-",
            "Leaving",
        ),
    ]);
}

#[test]
fn deleted_host_goes_when_nobody_uses_it() {
    let deleted = |s: &mut Scene| s.host.deleting = true;
    let off = || {
        orphan().with(deleted).with(|s| {
            s.holder = Holder::Machine;
            s.host.heard = NOW - 180;
        })
    };
    check(vec![
        ("free", free().with(deleted), "RemoveFinalizer", "Moving"),
        (
            "without our finalizer",
            free().with(deleted).with(|s| s.host.finalizer = false),
            "-",
            "Leaving",
        ),
        (
            "in use",
            orphan().with(deleted).with(|s| s.holder = Holder::Machine),
            "-",
            "DeletedInUse",
        ),
        (
            "released, not fenced",
            released(Phase::Fencing).with(deleted),
            "-",
            "DeletedInUse",
        ),
        (
            "fenced",
            released(Phase::Cleaning).with(deleted),
            "RemoveFinalizer",
            "Moving",
        ),
        (
            "fenced, its machine still there",
            released(Phase::Cleaning)
                .with(deleted)
                .with(|s| s.holder = Holder::Machine),
            "-",
            "DeletedInUse",
        ),
        (
            "a person's word",
            off().with(|s| s.host.forced = Some(ID.into())),
            "RemoveFinalizer",
            "Moving",
        ),
        (
            "a word about a host that answers",
            off().with(|s| {
                s.host.forced = Some(ID.into());
                s.host.heard = NOW - 179;
            }),
            "-",
            "DeletedInUse",
        ),
        (
            "a word about another claim",
            off().with(|s| s.host.forced = Some(OTHER.into())),
            "-",
            "DeletedInUse",
        ),
    ]);
}

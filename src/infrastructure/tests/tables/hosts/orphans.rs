//! A host whose claim no machine has.

use infrastructure::{Holder, Node, Phase, PodsLeft};

use super::{Scene, check, orphan, released};
use crate::scene::{ID, NOW, OTHER};

/// The same, after both looks.
fn named() -> Scene {
    orphan().with(|s| {
        s.host.orphan_seen = Some((ID.to_owned(), NOW - 400));
        s.host.orphan = Some(ID.to_owned());
        s.host.cordoned = true;
    })
}

#[test]
fn orphan_is_named_after_two_looks_and_released_only_if_told() {
    let told = |s: &mut Scene| {
        s.policy.release_orphans = true;
        s.node = Some(Node::NoCluster);
    };
    check(vec![
        (
            "has a machine",
            orphan().with(|s| s.holder = Holder::Machine),
            "-",
            "InUse",
        ),
        (
            "not known",
            orphan().with(|s| s.holder = Holder::Unread),
            "-",
            "InUse",
        ),
        (
            "paused",
            orphan().with(|s| s.paused = true),
            "-",
            "NotJudged",
        ),
        (
            "just started",
            orphan().with(|s| s.leads_for = 599),
            "-",
            "NotJudged",
        ),
        ("first look", orphan(), "MarkOrphan", "MayBeOrphan"),
        (
            "too soon",
            orphan().with(|s| s.host.orphan_seen = Some((ID.into(), NOW - 299))),
            "-",
            "MayBeOrphan",
        ),
        (
            "the mark of another claim",
            orphan().with(|s| s.host.orphan_seen = Some((OTHER.into(), NOW - 400))),
            "MarkOrphan",
            "MayBeOrphan",
        ),
        (
            "second look",
            orphan().with(|s| s.host.orphan_seen = Some((ID.into(), NOW - 400))),
            "NameOrphan",
            "Orphan",
        ),
        ("named", named(), "-", "Orphan"),
        (
            "named, uncordoned",
            named().with(|s| s.host.cordoned = false),
            "NameOrphan",
            "Orphan",
        ),
        (
            "named, and told to release",
            named().with(told),
            "Release",
            "Orphan",
        ),
        (
            "too many of them",
            named().with(told).with(|s| s.orphans = (5, 20)),
            "-",
            "ManyOrphans",
        ),
        (
            "told, at the first look",
            orphan().with(told),
            "MarkOrphan",
            "MayBeOrphan",
        ),
        (
            "its machine is back",
            named().with(|s| s.holder = Holder::Machine),
            "UnmarkOrphan",
            "Moving",
        ),
    ]);
}

/// Nobody else drains its node: core drains only the nodes of Machines.
#[test]
fn orphan_that_no_person_releases_is_drained_first() {
    let alone = |node: Option<Node>, pods: Option<(i64, usize, Option<&str>)>| {
        named().with(|s| {
            s.policy.release_orphans = true;
            s.node = node;
            s.pods = pods.map(|(ago, left, held)| PodsLeft {
                ago,
                left,
                held: held.map(str::to_owned),
            });
        })
    };
    let ready = |pods| alone(Some(Node::Ready), pods);
    let at = |seconds| Some(Node::NotReady { seconds });
    let away = Some(Node::Away("refused".to_owned()));
    let missing = |visible| Some(Node::Missing { visible });
    let paused = |scene: Scene| scene.with(|s| s.left_alone = Some("Node n"));
    let budget = Some("PodDisruptionBudget shop/one blocks pod shop/web");
    check(vec![
        ("not asked yet", ready(None), "Drain", "OrphanDraining"),
        (
            "pods leave",
            ready(Some((19, 2, None))),
            "-",
            "OrphanDraining",
        ),
        (
            "a budget holds one",
            ready(Some((0, 1, budget))),
            "-",
            "OrphanHeld",
        ),
        (
            "asked long ago",
            ready(Some((20, 1, budget))),
            "Drain",
            "OrphanDraining",
        ),
        ("seen empty", ready(Some((0, 0, None))), "Release", "Orphan"),
        (
            "seen empty long ago",
            ready(Some((20, 0, None))),
            "Drain",
            "OrphanDraining",
        ),
        ("not Ready", alone(at(599), None), "Drain", "OrphanDraining"),
        ("dead", alone(at(600), None), "Release", "Orphan"),
        ("no Node yet", alone(missing(119), None), "-", "NotJudged"),
        ("no Node", alone(missing(120), None), "Release", "Orphan"),
        ("out of sight", alone(away.clone(), None), "-", "OrphanAway"),
        (
            "seen empty, and out of sight",
            alone(away, Some((0, 0, None))),
            "-",
            "OrphanAway",
        ),
        ("not looked for", alone(None, None), "-", "NotJudged"),
        ("paused", paused(ready(None)), "-", "OrphanPaused"),
        (
            "paused, and dead",
            paused(alone(at(600), None)),
            "-",
            "OrphanPaused",
        ),
        (
            "paused, and a person's word",
            paused(ready(None)).with(|s| s.host.forced = Some(ID.into())),
            "Release",
            "Orphan",
        ),
        (
            "a person's word",
            ready(Some((0, 1, budget))).with(|s| s.host.forced = Some(ID.into())),
            "Release",
            "Orphan",
        ),
        (
            "not switched on",
            ready(None).with(|s| s.policy.release_orphans = false),
            "-",
            "Orphan",
        ),
        (
            "many of them",
            ready(None).with(|s| s.orphans = (5, 20)),
            "-",
            "ManyOrphans",
        ),
    ]);
    let again = ready(Some((0, 1, None))).decide().again;
    assert_eq!(again, Some(21), "the next look asks again");
}

#[test]
fn named_orphan_is_released_by_a_persons_word() {
    let forced = |id: &str, scene: Scene| scene.with(|s| s.host.forced = Some(id.to_owned()));
    let deleted = |s: &mut Scene| s.host.deleting = true;
    check(vec![
        ("named", forced(ID, named()), "Release", "Orphan"),
        ("another claim", forced(OTHER, named()), "-", "Orphan"),
        (
            "the brake is for what nobody has looked at",
            forced(ID, named()).with(|s| {
                s.policy.release_orphans = true;
                s.orphans = (5, 20);
            }),
            "Release",
            "Orphan",
        ),
        (
            "without a claim",
            forced(ID, named()).with(|s| s.host.claim = None),
            "PutOrder",
            "Orphan",
        ),
        (
            "not named yet",
            forced(ID, orphan()),
            "MarkOrphan",
            "MayBeOrphan",
        ),
        (
            "a machine has it",
            forced(ID, orphan()).with(|s| s.holder = Holder::Machine),
            "-",
            "InUse",
        ),
        (
            "deleted, and it answers",
            forced(ID, named()).with(deleted),
            "Release",
            "Orphan",
        ),
        (
            "deleted without a word",
            named().with(deleted),
            "-",
            "Orphan",
        ),
        (
            "deleted and paused",
            forced(ID, named()).with(deleted).with(|s| s.paused = true),
            "-",
            "Orphan",
        ),
        (
            "deleted and released",
            forced(ID, released(Phase::Fencing)).with(deleted),
            "-",
            "DeletedInUse",
        ),
    ]);
}

#[test]
fn joined_host_without_a_claim_is_an_orphan_or_gets_it_back() {
    let gone = || orphan().with(|s| s.host.claim = None);
    let seen = |s: &mut Scene| {
        s.host.orphan_seen = Some((ID.into(), NOW - 400));
        s.host.orphan = Some(ID.into());
        s.host.cordoned = true;
    };
    check(vec![
        (
            "a machine has it",
            gone().with(|s| s.holder = Holder::Machine),
            "-",
            "InUse",
        ),
        ("first look", gone(), "MarkOrphan", "MayBeOrphan"),
        ("named", gone().with(seen), "-", "Orphan"),
        (
            "told to release",
            gone().with(seen).with(|s| {
                s.policy.release_orphans = true;
                s.node = Some(Node::NoCluster);
            }),
            "PutOrder",
            "Orphan",
        ),
        (
            "available",
            gone().with(|s| s.host.phase = Phase::Available),
            "-",
            "Free",
        ),
    ]);
}

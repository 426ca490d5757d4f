//! The decision on one host.

use infrastructure::{
    Holder, Host, HostAct, HostDecision, HostFacts, Node, Phase, PodsLeft, Policy, Registration,
    Wanted, tend,
};

use crate::scene::{ID, NOW, OTHER, claim, host};

struct Scene {
    host: Host,
    word_since: Option<i64>,
    registration: Option<Registration>,
    has_account: bool,
    handed_over: Option<i64>,
    renewed_at: Option<i64>,
    holder: Holder,
    paused: bool,
    leads_for: i64,
    orphans: (usize, usize),
    node: Option<Node>,
    pods: Option<PodsLeft>,
    policy: Policy,
}

fn free() -> Scene {
    Scene {
        host: host("h"),
        word_since: None,
        registration: None,
        has_account: true,
        handed_over: None,
        renewed_at: Some(NOW - 30),
        holder: Holder::Unread,
        paused: false,
        leads_for: 1000,
        orphans: (1, 20),
        node: None,
        pods: None,
        policy: Policy::default(),
    }
}

/// A host that has joined by its claim, which no machine has.
fn orphan() -> Scene {
    let mut scene = free();
    scene.host.claim = Some(claim(ID));
    scene.host.observed = Some(ID.to_owned());
    scene.host.phase = Phase::Joined;
    scene.holder = Holder::Nobody;
    scene
}

/// The same, after both looks.
fn named() -> Scene {
    orphan().with(|s| {
        s.host.orphan_seen = Some((ID.to_owned(), NOW - 400));
        s.host.orphan = Some(ID.to_owned());
        s.host.cordoned = true;
    })
}

fn released(phase: Phase) -> Scene {
    orphan().with(|s| {
        s.host.claim.as_mut().unwrap().wanted = Wanted::Released;
        s.host.phase = phase;
    })
}

fn waiting() -> Scene {
    free().with(|s| {
        s.host.approved = false;
        s.host.finalizer = false;
        s.has_account = false;
        s.registration = Some(Registration {
            auto_approve: true,
            name_prefix: String::new(),
            max_hosts: 20,
            approved: 3,
        });
    })
}

impl Scene {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn decide(&self) -> HostDecision {
        tend(&HostFacts {
            now: NOW,
            host: &self.host,
            word_since: self.word_since,
            registration: self.registration.as_ref(),
            has_account: self.has_account,
            handed_over: self.handed_over,
            renewed_at: self.renewed_at,
            holder: self.holder,
            paused: self.paused,
            leads_for: self.leads_for,
            orphans: self.orphans,
            node: self.node.as_ref(),
            pods: self.pods.as_ref(),
            policy: &self.policy,
        })
    }
}

fn check(rows: Vec<(&str, Scene, &str, &str)>) {
    for (name, scene, act, why) in rows {
        let decision = scene.decide();
        let text = decision
            .act
            .map_or_else(|| "-".to_owned(), |act| format!("{act:?}"));
        let word = text.split(['(', '{', ' ']).next().unwrap_or_default();
        assert_eq!((word, decision.why.code()), (act, why), "{name}");
    }
}

#[test]
fn host_comes_in_by_the_table() {
    let handover = |s: &mut Scene| {
        s.host.handover = Some("0".repeat(32));
        s.renewed_at = None;
    };
    check(vec![
        (
            "approved by its registration",
            waiting(),
            "Approve",
            "Moving",
        ),
        (
            "no registration",
            waiting().with(|s| s.registration = None),
            "-",
            "NoRegistration",
        ),
        (
            "waits for a person",
            waiting().with(|s| s.registration.as_mut().unwrap().auto_approve = false),
            "-",
            "Unapproved",
        ),
        (
            "another prefix",
            waiting().with(|s| s.registration.as_mut().unwrap().name_prefix = "n-".into()),
            "-",
            "OtherPrefix",
        ),
        (
            "too many",
            waiting().with(|s| s.registration.as_mut().unwrap().approved = 20),
            "-",
            "RegistrationFull",
        ),
        (
            "approved by a person",
            free().with(|s| s.host.finalizer = false),
            "AddFinalizer",
            "Moving",
        ),
        (
            "no account",
            free().with(|s| s.has_account = false),
            "MakeAccount",
            "Moving",
        ),
        ("no token", free().with(handover), "HandOver", "Moving"),
        (
            "token not taken",
            free().with(handover).with(|s| s.handed_over = Some(60)),
            "-",
            "Free",
        ),
        (
            "token taken",
            free().with(handover).with(|s| {
                s.handed_over = Some(60);
                s.renewed_at = Some(NOW - 30);
            }),
            "EndHandover",
            "Moving",
        ),
        (
            "token not taken while it was good",
            free().with(handover).with(|s| s.handed_over = Some(HALF)),
            "HandOver",
            "Moving",
        ),
        ("in", free(), "-", "Free"),
    ]);
}

/// Half of the life of a token.
const HALF: i64 = 12 * 3600;

/// A host that careen-provider, which runs for days, does not hear for so many seconds.
fn silent(seconds: i64) -> Scene {
    free().with(|s| {
        s.host.handover = Some("0".repeat(32));
        s.host.heard = NOW - seconds;
        s.renewed_at = Some(NOW - seconds);
        s.leads_for = 10 * HALF;
    })
}

#[test]
fn host_whose_token_may_have_run_out_gets_another_by_the_table() {
    let held = |s: &mut Scene| {
        s.host.deleting = true;
        s.host.claim = Some(claim(ID));
    };
    check(vec![
        ("heard", silent(10), "-", "Free"),
        ("its token is good", silent(HALF - 1), "-", "Free"),
        ("silent", silent(HALF), "HandOver", "Moving"),
        (
            "handed over",
            silent(HALF).with(|s| s.handed_over = Some(60)),
            "-",
            "Free",
        ),
        (
            "handed over, and that token may have run out too",
            silent(3 * HALF).with(|s| s.handed_over = Some(HALF)),
            "HandOver",
            "Moving",
        ),
        (
            "heard again",
            silent(10).with(|s| s.handed_over = Some(60)),
            "EndHandover",
            "Moving",
        ),
        (
            "careen-provider was away too",
            silent(10).with(|s| {
                s.host.renewed = false;
                s.renewed_at = Some(NOW - HALF);
                s.leads_for = 180;
            }),
            "HandOver",
            "Moving",
        ),
        (
            "has just started: who has a token is heard first",
            silent(10).with(|s| {
                s.host.renewed = false;
                s.renewed_at = Some(NOW - HALF);
                s.leads_for = 179;
            }),
            "-",
            "Free",
        ),
        (
            "its clock is slow",
            silent(10).with(|s| s.renewed_at = Some(NOW - HALF)),
            "-",
            "Free",
        ),
        (
            "its clock is fast",
            silent(HALF).with(|s| s.renewed_at = Some(NOW + HALF)),
            "HandOver",
            "Moving",
        ),
        (
            "given up",
            silent(HALF).with(|s| {
                let mut order = claim(ID);
                (order.wanted, order.lost) = (Wanted::Released, true);
                s.host.claim = Some(order);
            }),
            "HandOver",
            "Moving",
        ),
        (
            "deleted, and held by its claim",
            silent(HALF).with(held),
            "HandOver",
            "DeletedInUse",
        ),
        (
            "deleted, free, with a token to take",
            silent(HALF).with(|s| (s.host.deleting, s.handed_over) = (true, Some(60))),
            "EndHandover",
            "Moving",
        ),
    ]);
    let again = |scene: Scene| scene.decide().again;
    assert_eq!(again(silent(10)), Some(12 * 3600 - 10));
    assert_eq!(
        again(silent(HALF).with(|s| s.handed_over = Some(60))),
        Some(12 * 3600 - 60)
    );
    let started = silent(HALF).with(|s| s.leads_for = 100);
    assert_eq!(again(started), Some(80));
    assert_eq!(again(free()), None, "a host that looks for no token");
}

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

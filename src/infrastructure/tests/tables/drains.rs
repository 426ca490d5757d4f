//! The pods of a drained node, and in which order they leave.

use std::collections::BTreeSet;

use infrastructure::{
    Attachment, Budget, DrainFacts, Moving, NextPods, PodToGo, Volume, next_pods,
};

const NOW: i64 = 1000;

fn pod(name: &str, priority: i32, claims: &[&str]) -> PodToGo {
    PodToGo {
        uid: format!("uid-{name}"),
        space: "shop".to_owned(),
        name: name.to_owned(),
        priority,
        grace: 30,
        ending: false,
        claims: claims.iter().map(|&claim| claim.to_owned()).collect(),
    }
}

fn ending(name: &str, claim: &str) -> PodToGo {
    PodToGo {
        ending: true,
        ..pod(name, 0, &[claim])
    }
}

fn volume(name: &str) -> Volume {
    Volume {
        claim: name.to_owned(),
        name: format!("pv-{name}"),
    }
}

/// The attachments of volumes: `here` is the drained node.
fn attached(volumes: &[(&str, bool)]) -> Vec<Attachment> {
    let one = |&(name, here): &(&str, bool)| Attachment {
        volume: format!("pv-{name}"),
        here,
        attached: true,
    };
    volumes.iter().map(one).collect()
}

/// `db` leaves since so many seconds, with its volume `a`.
fn moving(seconds: i64, detached: Option<i64>) -> Moving {
    Moving {
        since: NOW - seconds,
        detached: detached.map(|ago| NOW - ago),
        ..Moving::new(&pod("db", 0, &["a"]), vec![volume("a")], &here(), NOW)
    }
}

fn here() -> Vec<Attachment> {
    attached(&[("a", true)])
}

struct Look {
    pods: Vec<PodToGo>,
    kept: &'static [&'static str],
    moving: Option<Moving>,
    attached: Vec<Attachment>,
}

impl Look {
    fn check(&self, what: &str, check: impl FnOnce(&NextPods<'_>)) {
        let kept: BTreeSet<_> = self.kept.iter().map(|&claim| claim.to_owned()).collect();
        eprintln!("{what}");
        check(&next_pods(&DrainFacts {
            now: NOW,
            pods: &self.pods,
            kept: &kept,
            moving: self.moving.as_ref(),
            attached: &self.attached,
        }));
    }
}

fn names(pods: &[&PodToGo]) -> Vec<String> {
    pods.iter().map(|pod| pod.name.clone()).collect()
}

#[test]
fn pods_with_volumes_take_turns_by_their_priority() {
    let look = Look {
        pods: vec![
            pod("web", 0, &[]),
            pod("low", -5, &["l"]),
            pod("high", 9, &["h"]),
            pod("cache", 9, &[]),
            pod("db", 0, &["a", "b"]),
            ending("old", "o"),
        ],
        kept: &[],
        moving: None,
        attached: here(),
    };
    look.check("all at once, or in turn", |next| {
        assert_eq!(names(&next.together), ["web", "cache"]);
        assert_eq!(names(&next.in_turn), ["high", "db", "low"]);
        assert_eq!((&next.moving, next.left), (&None, 6));
    });
}

/// Whose turn it is after a look, and what was not waited for.
struct Turn {
    what: &'static str,
    pods: Vec<PodToGo>,
    attached: Vec<Attachment>,
    moving: Moving,
    turn: Option<&'static str>,
    overdue: &'static str,
}

impl Turn {
    /// `db` keeps the turn.
    fn kept(what: &'static str, pods: Vec<PodToGo>, at: Vec<Attachment>, moving: Moving) -> Self {
        Self {
            what,
            pods,
            attached: at,
            moving,
            turn: Some("shop/db"),
            overdue: "",
        }
    }

    fn ended(self) -> Self {
        Self { turn: None, ..self }
    }

    fn overdue(self, overdue: &'static str) -> Self {
        Self {
            overdue,
            ..self.ended()
        }
    }

    fn check(self) {
        let (what, others) = (self.what, self.pods.len() > 1);
        let look = Look {
            pods: self.pods,
            kept: &[],
            moving: Some(self.moving),
            attached: self.attached,
        };
        look.check(what, |next| {
            let name = next.moving.as_ref().map(|moving| &*moving.name);
            assert_eq!(name, self.turn, "{what}");
            let said = next.overdue.clone().unwrap_or_default();
            assert!(said.contains(self.overdue), "{what}: {said}");
            assert_eq!(said.is_empty(), self.overdue.is_empty(), "{what}: {said}");
            let waits = next.moving.is_some() || !others;
            assert_eq!(next.in_turn.is_empty(), waits, "{what}");
            assert_eq!(next.together.is_empty(), !others, "{what}");
        });
    }
}

/// The pods that go after `db`.
fn rest() -> Vec<PodToGo> {
    vec![pod("rest", 0, &["r"]), pod("web", 0, &[])]
}

#[test]
fn next_pod_waits_until_the_volume_is_detached() {
    let ends = || [rest(), vec![ending("db", "a")]].concat();
    let alone = || vec![ending("db", "a")];
    let late = "have not left in 150 s";
    let rows = [
        Turn::kept("it ends", ends(), here(), moving(149, None)),
        Turn::kept("it does not end", ends(), here(), moving(150, None)).overdue(late),
        Turn::kept("it is attached", rest(), here(), moving(149, None)),
        Turn::kept("it does not detach", rest(), here(), moving(150, None)).overdue(late),
        Turn::kept("the last one", alone(), here(), moving(1, None)),
        Turn::kept("the last is away", vec![], here(), moving(40, None)),
        Turn::kept(
            "the last is detached",
            vec![],
            attached(&[]),
            moving(40, None),
        )
        .ended(),
    ];
    rows.into_iter().for_each(Turn::check);
}

#[test]
fn next_pod_waits_until_the_volume_is_elsewhere() {
    let (nowhere, elsewhere) = (attached(&[]), attached(&[("a", false)]));
    let late = "volume pv-a of pod shop/db";
    let rows = [
        Turn::kept(
            "it is detached now",
            rest(),
            nowhere.clone(),
            moving(40, None),
        ),
        Turn::kept(
            "it is detached",
            rest(),
            nowhere.clone(),
            moving(200, Some(89)),
        ),
        Turn::kept("it stays so", rest(), nowhere, moving(200, Some(90))).overdue(late),
        Turn::kept("it is elsewhere", rest(), elsewhere, moving(40, Some(1))).ended(),
    ];
    rows.into_iter().for_each(Turn::check);
}

#[test]
fn drain_ends_when_the_last_volume_is_detached() {
    let look = |attached| Look {
        pods: vec![],
        kept: &[],
        moving: Some(moving(10, None)),
        attached,
    };
    look(here()).check("attached", |next| assert_eq!(next.left, 1));
    look(vec![]).check("detached", |next| assert_eq!(next.left, 0));
}

#[test]
fn volume_that_another_pod_uses_is_not_waited_for() {
    let look = |pods, kept| Look {
        pods,
        kept,
        moving: Some(moving(10, None)),
        attached: here(),
    };
    let other = || vec![pod("other", 0, &["a"])];
    look(other(), &[]).check("a pod that must leave", |next| {
        assert_eq!(names(&next.in_turn), ["other"]);
    });
    let rest = || vec![pod("rest", 0, &["r"])];
    look(rest(), &["a"]).check("a pod that stays", |next| {
        assert_eq!(names(&next.in_turn), ["rest"]);
    });
    look(rest(), &["b"]).check("none", |next| assert_eq!(names(&next.in_turn), [""; 0]));
}

#[test]
fn volume_without_an_attachment_is_not_waited_for() {
    let volumes = vec![volume("a"), volume("nfs")];
    let moving = Moving::new(&pod("db", 0, &["a", "nfs"]), volumes, &here(), NOW);
    assert_eq!(moving.volumes, [volume("a")]);
    let elsewhere = attached(&[("nfs", false)]);
    let none = Moving::new(
        &pod("db", 0, &["nfs"]),
        vec![volume("nfs")],
        &elsewhere,
        NOW,
    );
    assert_eq!(none.volumes, []);
}

#[test]
fn budget_that_can_never_let_a_pod_go_is_told_apart() {
    let never = Budget {
        current: true,
        expected: 2,
        healthy: 2,
        allowed: 0,
        disrupted: false,
    };
    assert!(never.never_allows());
    for (what, later) in [
        (
            "its figures are old",
            Budget {
                current: false,
                ..never
            },
        ),
        (
            "it has no pods",
            Budget {
                expected: 0,
                ..never
            },
        ),
        (
            "a pod is not healthy",
            Budget {
                healthy: 1,
                ..never
            },
        ),
        (
            "it allows one",
            Budget {
                allowed: 1,
                ..never
            },
        ),
        (
            "a pod leaves",
            Budget {
                disrupted: true,
                ..never
            },
        ),
    ] {
        assert!(!later.never_allows(), "{what}");
    }
}

//! A host that comes in, and its token.

use infrastructure::{Registration, Wanted};

use super::{Scene, check, free};
use crate::scene::{ID, NOW, claim};

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

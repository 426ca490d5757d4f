//! When a certificate and its authority are renewed. The time is an argument.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use provider::tls::{Due, due, make};

const DAY: i64 = 24 * 3600;

fn names() -> Vec<String> {
    vec![
        "careen-provider.careen-system.svc".to_owned(),
        "127.0.0.1".to_owned(),
    ]
}

#[test]
fn certificate_renews_a_month_early_under_the_same_authority() {
    let now = 1_800_000_000;
    let pair = make(None, &names(), now).unwrap();
    assert_eq!(due(&pair.terms, &names(), now + 59 * DAY), Due::Nothing);
    assert_eq!(due(&pair.terms, &names(), now + 61 * DAY), Due::Certificate);
    let next = make(Some(&pair), &names(), now + 61 * DAY).unwrap();
    assert_eq!(
        (
            next.authorities == pair.authorities,
            next.certificate == pair.certificate
        ),
        (true, false)
    );
}

#[test]
fn another_name_makes_another_certificate() {
    let pair = make(None, &names(), 1_800_000_000).unwrap();
    let more = [names(), vec!["10.0.0.1".to_owned()]].concat();
    assert_eq!(due(&pair.terms, &more, 1_800_000_000), Due::Certificate);
}

#[test]
fn new_authority_bundle_keeps_only_the_previous_authority() {
    let mut now = 1_800_000_000;
    let first = make(None, &names(), now).unwrap();
    now += 9 * 365 * DAY + DAY;
    assert_eq!(due(&first.terms, &names(), now), Due::Both);
    let second = make(Some(&first), &names(), now).unwrap();
    assert!(second.authorities.ends_with(&first.authorities));
    now += 9 * 365 * DAY + DAY;
    let third = make(Some(&second), &names(), now).unwrap();
    assert_eq!(third.authorities.matches("BEGIN CERTIFICATE").count(), 2);
    assert!(!third.authorities.contains(&first.authorities));
}

#[test]
fn a_pair_that_is_not_due_is_left_as_it_is() {
    let pair = make(None, &names(), 1_800_000_000).unwrap();
    assert_eq!(make(Some(&pair), &names(), 1_800_000_001).unwrap(), pair);
}

//! Many nodes: who is asked when, who is not, and what has failed before.

use serde_json::{Value, json};
use upgrade::names;

use crate::program::{Running, code, program, run};
use crate::server::Server;
use crate::{IMAGE, answer};

/// Nodes of which nothing was asked.
fn idle() -> Server {
    Server::with(["a", "b", "c", "d"].map(|name| (name, json!({}))))
}

fn start(server: &Server, more: &str) -> Running {
    let words = format!("upgrade a b c d --image {IMAGE} --yes {more}");
    Running::start(&mut program(server, &words))
}

fn is_asked(server: &Server, node: &str) -> bool {
    server.annotation(node, names::REQUEST).is_some()
}

/// Waits until it is asked, and answers.
fn answer_of(server: &Server, node: &str, word: &str) {
    server.until(node, |annotations| !annotations[names::REQUEST].is_null());
    let id = server.annotation(node, names::UPGRADE_ID).unwrap();
    server.annotate(node, answer(&id, word, word));
}

#[test]
fn two_at_once_stops_at_the_first_that_fails_and_watches_the_other_to_its_end() {
    let server = idle();
    let mut rollout = start(&server, "--at-once 2");
    rollout.until("a: Asked");
    rollout.until("b: Asked");
    assert!(!is_asked(&server, "c"), "two are under way");
    answer_of(&server, "a", "Upgraded");
    rollout.until("c: Asked");
    answer_of(&server, "b", "Failed");
    rollout.until("b: Failed");
    answer_of(&server, "c", "Upgraded");
    let (code, said) = rollout.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("stopped at b; not asked: d"), "{said}");
    assert!(!is_asked(&server, "d"));
}

#[test]
fn a_failure_that_is_borne_gives_its_place_to_the_next_and_is_seen_by_the_code() {
    let server = idle();
    let rollout = start(&server, "--at-once 25% --stop-after 2");
    for (node, word) in [
        ("a", "Failed"),
        ("b", "Upgraded"),
        ("c", "Upgraded"),
        ("d", "Upgraded"),
    ] {
        answer_of(&server, node, word);
    }
    let (code, said) = rollout.end();
    assert_eq!(code, Some(1), "{said}");
    assert!(!said.contains("not asked"), "{said}");
    assert!(said.contains("kubectl careen explain a"), "{said}");
}

#[test]
fn each_node_has_its_own_time_and_who_was_not_asked_is_named_when_it_is_over() {
    let server = idle();
    let rollout = start(&server, "--at-once 1 --timeout 1s");
    let (code, said) = rollout.end();
    assert_eq!(code, Some(7), "{said}");
    assert!(said.contains("not ended in time: a"), "{said}");
    assert!(said.contains("stopped at a; not asked: b, c, d"), "{said}");
}

#[test]
fn a_signal_says_who_was_not_asked() {
    let server = idle();
    let mut rollout = start(&server, "--one-by-one");
    rollout.until("a: Asked");
    rollout.signal("INT");
    let (code, said) = rollout.end();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("not asked: b, c, d"), "{said}");
    assert!(!is_asked(&server, "b"));
}

/// A node that runs another image by now, and whose last trial of this one failed.
fn with_a_past() -> Value {
    let past = |image: &str, answer: &str| json!({ "answer": answer, "image": image, "began": 1, "ended": 2, "tries": 1, "code": "Unhealthy" });
    let past = [
        past("ostree:site:edge/good", "Upgraded"),
        past(IMAGE, "Failed"),
    ];
    json!({ names::HISTORY: Value::from(past.to_vec()).to_string() })
}

#[test]
fn an_image_that_failed_on_a_node_is_asked_for_there_once_more_only_when_that_is_said() {
    let server = Server::with([("a", with_a_past()), ("b", json!({}))]);
    let words = format!("upgrade a b --image {IMAGE} --yes");
    let refused = run(&mut program(&server, &words));
    assert_eq!(code(&refused), 6, "{refused:?}");
    let said = String::from_utf8_lossy(&refused.stdout);
    assert!(
        said.contains("Unhealthy") && said.contains("`--again`"),
        "{said}"
    );
    assert!(!is_asked(&server, "a") && is_asked(&server, "b"));
    let meant = run(&mut program(&server, &(words + " --again")));
    assert_eq!(code(&meant), 0, "{meant:?}");
    assert!(is_asked(&server, "a"));
}

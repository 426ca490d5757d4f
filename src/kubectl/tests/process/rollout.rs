//! Many nodes: who is asked when, who is not, and what has failed before.

use serde_json::{Value, json};
use upgrade::names;

use crate::program::{Running, code, program, run};
use crate::server::Server;
use crate::{IMAGE, answer, answered};

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

fn id_of(server: &Server, node: &str) -> String {
    server.annotation(node, names::UPGRADE_ID).unwrap()
}

/// Waits until it is asked, and answers.
fn answer_of(server: &Server, node: &str, word: &str) {
    server.until(node, |annotations| !annotations[names::REQUEST].is_null());
    let id = id_of(server, node);
    server.annotate(node, answer(&id, word, word));
}

#[test]
fn rollout_of_two_stops_at_a_failure_and_awaits_the_other_node() {
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
fn tolerated_failure_frees_its_place_and_sets_the_exit_code() {
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
fn rollout_timeout_is_per_node_and_reports_unasked_nodes() {
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

/// The API server gives five hundred at once, and a token for the next.
#[test]
fn of_more_nodes_than_one_page_holds_none_is_forgotten() {
    let all: Vec<String> = (0..1001).map(|at| format!("n{at:04}")).collect();
    let server = Server::with(all.iter().map(|name| (name, json!({}))));
    let listed = run(&mut program(&server, "status"));
    let listed = String::from_utf8(listed.stdout).unwrap();
    assert_eq!(listed.lines().count(), 1 + all.len());
    for (words, key) in [
        ("pause -l role=edge".to_owned(), names::PAUSED),
        (
            format!("upgrade -l role=edge --image {IMAGE} --yes"),
            names::IMAGE,
        ),
    ] {
        let done = run(&mut program(&server, &words));
        assert_eq!(code(&done), 0, "{done:?}");
        let left = all
            .iter()
            .filter(|name| server.annotation(name, key).is_none());
        assert_eq!(left.collect::<Vec<_>>(), [""; 0], "{words}");
    }
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
fn upgrade_repeats_a_failed_image_on_a_node_only_with_again() {
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

#[test]
fn a_retry_by_labels_goes_on_past_nodes_on_which_nothing_failed() {
    let server = Server::with([
        ("a", json!({})),
        ("b", answered("k-1", "Failed")),
        ("c", answered("k-1", "Upgraded")),
        ("d", answered("k-1", "Failed")),
    ]);
    let words = "retry -l role=edge --yes --one-by-one";
    let retry = Running::start(&mut program(&server, words));
    for node in ["b", "d"] {
        server.until(node, |annotations| annotations[names::UPGRADE_ID] != "k-1");
        answer_of(&server, node, "Upgraded");
    }
    let (code, said) = retry.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("a: nothing has failed on it"), "{said}");
    assert!(!is_asked(&server, "a"));
}

/// Hours may go by before the second is asked.
#[test]
fn retry_does_not_overwrite_a_newer_request() {
    let failed = || answered("k-1", "Failed");
    let server = Server::with([("a", failed()), ("b", failed())]);
    let mut retry = Running::start(&mut program(&server, "retry a b --yes --one-by-one"));
    retry.until("a: Asked");
    let fixed = "ostree:site:edge/fixed";
    let newer = json!({ names::IMAGE: fixed, names::UPGRADE_ID: "k-9" });
    server.annotate("b", answer("k-9", "Failed", "Failed"));
    server.annotate("b", newer);
    server.annotate("a", answer(&id_of(&server, "a"), "Upgraded", "Upgraded"));
    let (code, said) = retry.end();
    assert_eq!(code, Some(6), "{said}");
    assert!(said.contains("a different request"), "{said}");
    assert_eq!(id_of(&server, "b"), "k-9");
    assert_eq!(server.annotation("b", names::IMAGE).as_deref(), Some(fixed));
}

#[test]
fn rollback_by_label_undoes_only_the_rollout_named_by_from() {
    let upgraded = |image: &str| {
        let past =
            json!([{ "answer": "Upgraded", "image": image, "began": 1, "ended": 2, "tries": 1 }]);
        let mut all = answered("k-1", "Upgraded");
        all[names::IMAGE] = json!(image);
        all[names::HISTORY] = json!(past.to_string());
        all
    };
    let server = Server::with([
        ("a", upgraded(IMAGE)),
        ("b", answered("k-1", "Failed")),
        ("c", upgraded("ostree:site:edge/before")),
        ("d", json!({})),
    ]);
    let unclear = run(&mut program(&server, "rollback -l role=edge --yes"));
    assert_eq!(code(&unclear), 2, "{unclear:?}");
    let words = format!("rollback -l role=edge --yes --from {IMAGE}");
    let undone = run(&mut program(&server, &words));
    assert_eq!(code(&undone), 0, "{undone:?}");
    let is_back = |node: &str| server.annotation(node, names::IMAGE).as_deref() == Some("kept:");
    assert_eq!(
        ["a", "b", "c", "d"].map(is_back),
        [true, false, false, false]
    );
}

//! A plan and a history as a person reads them.
#![allow(clippy::unwrap_used)]

mod scene;

use kubectl::diagnose::silent::unanswered;
use kubectl::drain::Moving;
use kubectl::duration::moment;
use kubectl::past_upgrades;
use kubectl::render::plan::{Preview, plan};
use kubectl::render::{Look, history};
use scene::*;
use serde_json::json;
use upgrade::names;
use upgrade::plan::Plan;

fn answer() -> Plan {
    serde_json::from_value(json!({
        "asked": NEW, "at": NOW,
        "failedBefore": { "code": "UserCheck", "reason": "required check disk failed: no /dev/sdb" },
        "kubelet": { "from": "v1.35.4", "to": "v1.36.3" },
        "kernel": { "from": "6.12.48", "to": "6.12.48" },
        "packages": [
            { "name": "linux-image-amd64", "from": "6.12.43-1", "to": "6.12.48-1", "bytes": 1_200_000 },
            { "name": "nano", "from": "8.4-1", "bytes": -2_900_000 },
            { "name": "zstd", "to": "1.5.7", "bytes": 900 },
        ],
        "packagesLeftOut": 12,
        "fetchBytes": 272_629_760,
        "etcConflicts": ["/etc/chrony/chrony.conf"],
        "room": [{ "place": "/boot", "need": 95_000_000, "free": 61_000_000 }],
        "keptGoes": true,
        "blocked": [{ "pod": "shop/db-0", "by": "PodDisruptionBudget shop/db" }],
        "expectedSeconds": 420,
        "windowSeconds": 300,
    }))
    .unwrap()
}

fn preview(plan: Option<Plan>) -> Preview {
    let pod = |name: &str, held: Option<&str>, bare: bool| Moving {
        pod: name.to_owned(),
        held_by: held.map(str::to_owned),
        bare,
    };
    let pods = vec![
        pod("shop/db-0", Some("shop/db"), false),
        pod("shop/job", None, true),
        pod("shop/web-1", None, false),
    ];
    Preview {
        node: "worker-1".to_owned(),
        image: NEW.to_owned(),
        plan,
        pods: Some(pods),
        usual_seconds: Some(370),
    }
}

fn plan_text(answer: Option<Plan>) -> String {
    plan(&preview(answer), false, Look::default())
}

#[test]
fn a_plan_says_what_changes_what_moves_and_what_is_in_the_way() {
    golden("plan.txt", &plan_text(Some(answer())));
}

#[test]
fn a_refusal_comes_first() {
    let refused = Plan {
        code: Some("Downgrade".to_owned()),
        reason: Some("careen.dev/image carries v1.34.0, older than this node's v1.35.4".to_owned()),
        ..Plan::default()
    };
    golden("plan-refused.txt", &plan_text(Some(refused)));
}

#[test]
fn plan_reports_a_missing_guard_that_the_policy_permits() {
    let unguarded = Plan {
        unguarded: true,
        ..answer()
    };
    let said = "none in the image's initramfs";
    assert!(plan_text(Some(unguarded)).contains(said));
    assert!(!plan_text(Some(answer())).contains(said));
}

#[test]
fn plan_verdict_says_until_when_an_upgrade_would_wait() {
    let opens = || Some("Sat 22:00 Europe/Berlin".to_owned());
    let paused = || Some("an audit".to_owned());
    let said = |opens, paused| {
        let plan = Plan {
            opens,
            paused,
            ..Plan::default()
        };
        plan_text(Some(plan))
    };
    golden("plan-waits.txt", &said(opens(), paused()));
    let verdict = |text: String| text.lines().nth(2).unwrap().trim().to_owned();
    assert_eq!(
        verdict(said(opens(), None)),
        "verdict        it would wait until Sat 22:00 Europe/Berlin"
    );
    assert_eq!(
        verdict(said(None, paused())),
        "verdict        it would wait until the node is resumed"
    );
    assert_eq!(
        verdict(said(None, None)),
        "verdict        nothing that can be seen now is in its way"
    );
}

#[test]
fn plan_reports_an_earlier_failure_of_an_acceptable_image() {
    let failed = json!({
        "asked": NEW, "at": NOW, "failedBefore": { "code": "Unhealthy" },
    });
    let text = plan_text(Some(serde_json::from_value(failed).unwrap()));
    let lines: Vec<_> = text.lines().skip(2).take(2).map(str::trim).collect();
    assert_eq!(
        lines,
        [
            "verdict        it would be accepted, and then delayed as shown below",
            "failed here    before, with Unhealthy; a new request tries it again",
        ]
    );
}

#[test]
fn plan_says_when_a_short_window_reopens_or_that_it_never_fits() {
    let said = |opens: Option<&str>, too_short: Option<&str>| {
        let plan = Plan {
            window_seconds: Some(300),
            opens: opens.map(str::to_owned),
            too_short: too_short.map(str::to_owned),
            ..Plan::default()
        };
        let text = plan_text(Some(plan));
        let of = |name: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(name));
            line.unwrap().trim().to_owned()
        };
        (of("verdict"), of("window"))
    };
    assert_eq!(
        said(Some("Sat 22:00 UTC"), None),
        (
            "it would wait until Sat 22:00 UTC".to_owned(),
            "5m00s left: not enough for a drain; it opens again Sat 22:00 UTC".to_owned()
        )
    );
    let never = "it is never open for more than 25 min";
    let (verdict, window) = said(None, Some(never));
    assert!(verdict.ends_with("delayed as shown below"));
    assert_eq!(window, never);
}

#[test]
fn plan_of_an_unset_clock_says_what_it_waits_for() {
    let why = "no time service has set this machine's clock";
    let plan = Plan {
        clock_unset: Some(why.to_owned()),
        ..Plan::default()
    };
    let text = plan_text(Some(plan));
    let lines: Vec<_> = text.lines().map(str::trim).collect();
    let of = |name: &str| lines.iter().find_map(|line| line.strip_prefix(name));
    let verdict = of("verdict").unwrap();
    assert!(
        verdict.ends_with("wait until the node's clock is set and the hours are open"),
        "{verdict}"
    );
    assert_eq!(of("window").unwrap().trim(), why);
}

/// What follows the title of the pods.
fn pods_of(text: &str) -> &str {
    let (_, pods) = text.split_once("pods that would move:\n").unwrap();
    pods
}

#[test]
fn where_the_node_answers_that_none_moves_no_pod_is_named() {
    let drains_nothing = Plan {
        blocked: Vec::new(),
        ..answer()
    };
    let text = plan_text(Some(drains_nothing.clone()));
    assert!(!text.contains("shop/"), "{text}");
    assert!(pods_of(&text).contains("drain.skip"), "{text}");
    let data = preview(Some(drains_nothing)).settled();
    assert_eq!(data.pods, Some(Vec::new()), "for programs too");
}

#[test]
fn of_the_image_that_runs_it_is_said_that_it_runs_already() {
    let runs = json!({
        "asked": NEW, "at": NOW, "commit": "b".repeat(64),
        "kubelet": { "from": "v1.35.4", "to": "v1.35.4" },
    });
    let text = plan_text(Some(serde_json::from_value(runs).unwrap()));
    assert_eq!(pods_of(&text), "  none: it runs this image already\n");
}

#[test]
fn pods_that_the_node_would_move_are_named_as_they_are_seen() {
    let moves = Plan {
        moving: vec!["shop/web-1".to_owned()],
        blocked: Vec::new(),
        ..answer()
    };
    let seen = preview(Some(moves)).settled();
    assert_eq!(seen.pods.as_ref().map(Vec::len), Some(3));
    assert!(pods_of(&plan(&seen, false, Look::default())).contains("shop/web-1"));
    let refused = Plan {
        code: Some("NoRoom".to_owned()),
        ..Plan::default()
    };
    assert!(
        pods_of(&plan_text(Some(refused))).contains("shop/web-1"),
        "nobody has looked at them there"
    );
}

#[test]
fn held_and_returning_pods_that_did_not_fit_are_counted() {
    let many = Plan {
        blocked_left_out: 12,
        returning: vec!["shop/tolerant".to_owned()],
        returning_left_out: 3,
        ..answer()
    };
    let text = plan_text(Some(many.clone()));
    assert!(
        pods_of(&text).contains("… and 12 more that are held\n"),
        "{text}"
    );
    let (_, returning) = text
        .split_once("pods that the cordon does not keep off")
        .unwrap();
    let (_, returning) = returning.split_once(":\n").unwrap();
    assert_eq!(returning, "  shop/tolerant\n  … and 3 more\n");
    let data = serde_json::to_value(preview(Some(many)).settled()).unwrap();
    assert_eq!(data["plan"]["blockedLeftOut"], 12);
    assert_eq!(data["plan"]["returning"], json!(["shop/tolerant"]));
}

#[test]
fn without_an_answer_there_is_what_is_seen_from_outside() {
    golden("plan-unanswered.txt", &plan_text(None));
}

/// A node whose agent was heard of so many seconds ago, if ever, and what its kubelet says.
fn unheard(agent: Option<u64>, ready: &str) -> String {
    let at = |ago| moment(NOW - ago).replace(' ', "T");
    let own = agent.map(
        |ago| json!({ "type": names::CONDITION, "status": "False", "lastHeartbeatTime": at(ago) }),
    );
    let ready = Some(json!({ "type": "Ready", "status": ready }));
    let conditions: Vec<_> = ready.into_iter().chain(own).collect();
    let node = node(
        "worker-1",
        json!({ "status": { "conditions": conditions } }),
    );
    unanswered(&node, NOW)
}

#[test]
fn plan_suspects_an_old_agent_only_after_a_long_silence() {
    let lately = unheard(Some(90), "True");
    assert!(
        lately.starts_with("its agent, which wrote 1m30s ago, is still looking"),
        "{lately}"
    );
    let long_ago = unheard(Some(86_400), "True");
    assert!(
        long_ago.contains("still looking") && long_ago.contains("too old"),
        "{long_ago}"
    );
    assert!(unheard(None, "True").starts_with("no agent has ever written"));
    assert!(unheard(Some(90), "Unknown").ends_with("the node is away"));
}

#[test]
fn a_history_is_read_from_the_latest_to_the_first() {
    let past = json!([
        { "id": "k-2", "answer": "Upgraded", "image": NEW, "from": "v1.35.4", "to": "v1.36.3",
          "began": NOW - 4000, "ended": NOW - 3630, "tries": 1,
          "seconds": { "working": 250, "waiting": 120, "cordoned": 200, "drained": 180, "notReady": 60 } },
        { "id": "k-1", "answer": "Failed", "image": NEW, "from": "v1.35.4", "to": "v1.36.3",
          "began": NOW - 9000, "ended": NOW - 8100, "tries": 2, "code": "UserCheck",
          "reason": "required check disk failed: no /dev/sdb" },
    ]);
    let node = annotated("a", json!({ names::HISTORY: past.to_string() }));
    let told = past_upgrades::of(&[node]);
    golden(
        "history.txt",
        &history::history(&told, false, false, Look::default()),
    );
    let wide = history::history(&told, false, true, Look::default());
    let words =
        |line| -> Vec<&str> { wide.lines().nth(line).unwrap().split_whitespace().collect() };
    assert_eq!(
        words(0)[1..7],
        [
            "TOOK", "WORKED", "WAITED", "CORDONED", "DRAINED", "NOTREADY"
        ]
    );
    assert_eq!(
        words(1)[2..8],
        ["6m10s", "4m10s", "2m00s", "3m20s", "3m00s", "1m00s"]
    );
}

/// No line of a table is longer than the screen, and these words are in it.
fn fits(text: &str, width: usize, words: &[&str]) {
    for line in text.lines() {
        assert!(
            line.chars().count() <= width,
            "{width}: {line:?} in\n{text}"
        );
    }
    for word in words {
        assert!(
            text.contains(word),
            "{width}: not shown: {word:?} in\n{text}"
        );
    }
}

const fn screen(width: usize) -> Look {
    Look {
        colour: false,
        width: Some(width),
        height: None,
    }
}

#[test]
fn history_fits_the_screen_and_keeps_each_upgrades_outcome() {
    let seconds =
        json!({ "working": 90, "waiting": 3600, "cordoned": 80, "drained": 60, "notReady": 50 });
    let past = json!([{
        "id": "k-20251122T082640-007", "answer": "Failed", "image": NEW, "from": "v1.35.4", "to": "v1.36.3", "began": NOW - 3700, "ended": NOW,
        "seconds": seconds, "tries": 1, "code": "ApiAwayInTrial", "reason": "the API server was away for the whole of the trial",
    }]);
    let node = annotated("worker-1", json!({ names::HISTORY: past.to_string() }));
    let told = past_upgrades::of(&[node]);
    for wide in [false, true] {
        for (width, also) in [(80, "2025-11-22"), (40, "worker-1")] {
            let text = history::history(&told, true, wide, screen(width));
            fits(&text, width, &["ANSWER", "ApiAwayInTrial", "the API", also]);
        }
    }
}

#[test]
fn plan_packages_fit_the_screen_and_keep_the_new_version() {
    let package = |name: &str| json!({ "name": name, "from": "1.35.4-1.1+deb13u1", "to": "1.36.3-1.1+deb13u1", "bytes": 1 << 20 });
    let packages = [
        package("kubelet"),
        package("linux-image-6.12.57+deb13-cloud-amd64"),
    ];
    let answer: Plan =
        serde_json::from_value(json!({ "asked": "x", "at": 1, "packages": packages })).unwrap();
    for (width, also) in [(100, "SIZE"), (80, "FROM"), (40, "linux-image")] {
        let text = plan(&preview(Some(answer.clone())), false, screen(width));
        let table = text.split("\n\n").find(|part| part.starts_with("PACKAGE"));
        fits(table.unwrap(), width, &["kubelet", "1.36.3-1.1", also]);
    }
}

#[test]
fn history_merges_all_nodes_into_one_list_latest_first() {
    let ended = |name: &str, began: &[u64]| {
        let past = began.iter().map(|began| {
            json!({ "answer": "Upgraded", "image": NEW, "began": began, "ended": began + 60, "tries": 1 })
        });
        let past: serde_json::Value = past.collect();
        annotated(name, json!({ names::HISTORY: past.to_string() }))
    };
    let told = past_upgrades::of(&[
        ended("a", &[NOW - 100, NOW - 900]),
        ended("b", &[NOW - 500]),
    ]);
    let text = history::history(&told, true, false, Look::default());
    let nodes: Vec<_> = text
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(nodes, ["NODE", "a", "b", "a"]);
    let data = serde_json::to_value(&told).unwrap();
    assert_eq!(
        (&data[1]["node"], &data[1]["began"]),
        (&json!("b"), &json!(NOW - 500))
    );
}

#[test]
fn of_a_node_whose_clock_was_set_the_order_is_its_own() {
    let past = json!([
        { "id": "late", "answer": "Upgraded", "image": NEW, "began": 5, "ended": 60, "tries": 1 },
        { "id": "early", "answer": "Upgraded", "image": NEW, "began": NOW, "ended": NOW + 60, "tries": 1 },
    ]);
    let told = past_upgrades::of(&[annotated("a", json!({ names::HISTORY: past.to_string() }))]);
    assert_eq!(told[0].past.id.as_ref().unwrap().as_str(), "late");
}

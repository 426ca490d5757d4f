//! The program that is shipped, seen from outside: its streams, its codes, and what signals do to
//! it.
#![allow(clippy::unwrap_used, clippy::panic)]

mod program;
mod rollout;
mod server;

use std::collections::BTreeSet;
use std::fs::File;
use std::process::{Command, Output};
use std::time::Duration;

use kubectl::exit::Exit;
use program::{Running, Watched, code, on_a_terminal, program, run};
use serde_json::{Value, json};
use server::Server;
use upgrade::names;

/// Far longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(60);

const IMAGE: &str =
    "ostree:site:edge/stable@bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb";

fn asked(id: &str) -> Value {
    json!({ names::REQUEST: names::REQUEST_SCHEDULED, names::IMAGE: IMAGE, names::UPGRADE_ID: id })
}

/// What an agent says to request `id`.
fn answer(id: &str, word: &str, phase: &str) -> Value {
    let status = json!({
        "id": id, "phase": phase, "percent": 60, "tries": 1, "reached": [], "reason": "a\u{1b}[2Jb",
    });
    let past =
        json!([{ "answer": word, "image": IMAGE, "began": 1, "ended": 9, "reason": "a\u{1b}b" }]);
    json!({ names::ANSWER: word, names::STATUS: status.to_string(), names::HISTORY: past.to_string() })
}

/// The request for it, and what came of it.
fn answered(id: &str, word: &str) -> Value {
    let phase = if word == "InProgress" { "Trial" } else { word };
    let mut all = asked(id);
    let more = answer(id, word, phase).as_object().unwrap().clone();
    all.as_object_mut().unwrap().extend(more);
    all
}

/// One node is at work, one has failed, one was never asked.
fn server() -> Server {
    Server::with([
        ("busy", answered("k-1", "InProgress")),
        ("bad", answered("k-1", "Failed")),
        ("idle", json!({})),
    ])
}

fn text(output: &Output) -> String {
    assert_eq!(code(output), 0, "{output:?}");
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// Every control character but the end of a line.
fn steering(text: &str) -> Vec<char> {
    let control = text.chars().filter(|c| c.is_control());
    control.filter(|c| !matches!(c, '\n' | '\r')).collect()
}

#[test]
fn in_a_pipe_nothing_is_coloured_and_no_terminal_is_steered() {
    let server = server();
    for words in [
        "status",
        "status -o wide",
        "status -o yaml",
        "explain bad",
        "history bad",
        "--help",
        "upgrade --help",
    ] {
        let said = text(&run(&mut program(&server, words)));
        assert!(
            !said.is_empty() && steering(&said).is_empty(),
            "{words}: {said:?}"
        );
    }
    let mut watching = Running::start(&mut program(&server, "status --watch"));
    watching.until("busy: Trial");
    server.annotate("busy", answer("k-1", "Upgraded", "Upgraded"));
    watching.until("busy: Upgraded");
    assert!(steering(&watching.out).is_empty(), "{:?}", watching.out);
}

#[test]
fn terminal_output_is_coloured_unless_disabled() {
    let server = server();
    let colour = |words: &str, setting: &str| {
        let (screen, code) = on_a_terminal(&server, words, setting, "");
        assert!(code == 0 && screen.contains("busy"), "{screen:?}");
        screen.contains('\u{1b}')
    };
    assert!(colour("status", ""));
    assert!(!colour("status", "NO_COLOR=1"));
    assert!(!colour("status", "TERM=dumb"));
    assert!(!colour("status --color never", ""));
    let in_a_pipe = text(&run(&mut program(&server, "status --color always")));
    assert!(in_a_pipe.contains('\u{1b}'), "{in_a_pipe:?}");
}

/// Back over so many rows, and nothing left below.
fn over(rows: usize) -> String {
    format!("\u{1b}[{rows}A\r\u{1b}[J")
}

#[test]
fn watch_replaces_the_table_on_a_terminal() {
    let server = server();
    let mut watched = Watched::start(&server, "status --watch --color never");
    watched.running.until("idle");
    assert!(steering(&watched.running.out).is_empty());
    server.annotate("busy", answer("k-1", "Upgraded", "Upgraded"));
    watched.running.until("Upgraded");
    let (_, second) = watched.running.out.split_once(&over(4)).unwrap();
    assert!(
        second.starts_with("NODE") && !second.contains("Trial"),
        "{second:?}"
    );
}

#[test]
fn a_terminal_that_is_made_narrower_gets_a_table_that_fits() {
    let server = server();
    let mut watched = Watched::start(&server, "status --watch --color never");
    watched.running.until("idle");
    assert!(watched.running.out.contains("PROGRESS"));
    watched.resize(40);
    // Each of the four rows was longer than that, and takes two by now.
    watched.running.until(&over(8));
    let (_, second) = watched.running.out.split_once(&over(8)).unwrap();
    assert!(
        second.starts_with("NODE") && !second.contains("PROGRESS"),
        "{second:?}"
    );
}

#[test]
fn what_a_node_writes_about_itself_does_not_steer_the_terminal() {
    let (screen, _) = on_a_terminal(&server(), "explain bad --color never", "", "");
    assert!(
        screen.contains("[2Jb") && steering(&screen).is_empty(),
        "{screen:?}"
    );
}

#[test]
fn on_a_terminal_a_person_is_asked_back_and_their_word_counts() {
    let server = server();
    let words = format!("upgrade idle --image {IMAGE}");
    let (screen, code) = on_a_terminal(&server, &words, "", "n\n");
    assert!(
        screen.contains("It drains and reboots. [y/N]"),
        "{screen:?}"
    );
    assert_eq!(code, 8);
    assert_eq!(server.annotation("idle", names::REQUEST), None);
    let (_, code) = on_a_terminal(&server, &words, "", "y\n");
    assert_eq!(code, 0);
    assert!(server.annotation("idle", names::REQUEST).is_some());
}

/// A watched upgrade of `idle` that has come as far as that.
fn watched(server: &Server) -> (Running, String) {
    let words = format!("upgrade idle --image {IMAGE} --yes --watch");
    let watching = Running::start(&mut program(server, &words));
    server.until("idle", |annotations| !annotations[names::REQUEST].is_null());
    let id = server.annotation("idle", names::UPGRADE_ID).unwrap();
    (watching, id)
}

#[test]
fn a_signal_ends_the_watching_and_leaves_what_was_asked_for() {
    for signal in ["INT", "TERM"] {
        let server = server();
        let (mut watching, id) = watched(&server);
        watching.until("idle: Asked");
        watching.signal(signal);
        let (code, said) = watching.end();
        assert_eq!(code, Some(130), "{said}");
        assert!(said.contains("the request stays"), "{said}");
        assert_eq!(server.annotation("idle", names::UPGRADE_ID), Some(id));
        assert_eq!(
            server.annotation("idle", names::IMAGE).as_deref(),
            Some(IMAGE)
        );
    }
}

/// The program says and does nothing first there, so a shell says which signal it was.
#[test]
fn a_status_that_is_watched_ends_by_the_signal_itself() {
    let server = server();
    for (signal, number) in [("INT", 2), ("TERM", 15)] {
        let mut watching = Running::start(&mut program(&server, "status --watch"));
        watching.until("busy: Trial");
        watching.signal(signal);
        let end = (Some(number), String::new());
        assert_eq!(watching.end_by_signal(), end, "{signal}");
    }
}

#[test]
fn a_signal_takes_the_question_of_a_plan_off_the_node() {
    let server = server();
    // A link that is lost hangs up.
    for signal in ["INT", "TERM", "HUP"] {
        let mut asking = program(&server, &format!("plan idle --image {IMAGE}"));
        let asking = Running::start(&mut asking);
        server.until("idle", |annotations| !annotations[names::PLAN].is_null());
        asking.signal(signal);
        assert_eq!(asking.end().0, Some(130), "{signal}");
        assert_eq!(server.annotation("idle", names::PLAN), None, "{signal}");
    }
}

#[test]
fn plan_removes_its_question_when_the_response_is_lost() {
    let server = server();
    server.lose_an_answer();
    let output = run(&mut program(&server, &format!("plan idle --image {IMAGE}")));
    assert_eq!(code(&output), 3, "{output:?}");
    assert_eq!(server.annotation("idle", names::PLAN), None);
}

/// The program lists and watches again, and reports no outage.
#[test]
fn watch_shows_changes_made_while_the_server_lost_its_history() {
    let server = server();
    let mut watching = Running::start(&mut program(&server, "status --watch"));
    watching.until("busy: Trial");
    server.annotate_and_forget("busy", answer("k-1", "Upgraded", "Upgraded"));
    watching.until("busy: Upgraded");
    watching.signal("TERM");
    assert_eq!(watching.end_by_signal(), (Some(15), String::new()));
}

/// Scripts know them by these numbers.
#[test]
fn it_ends_with_each_code_that_the_page_lists() {
    let server = server();
    let mut seen = BTreeSet::new();
    let mut ends = |command: &mut Command, number: u8| {
        let output = command.output().unwrap();
        assert_eq!(code(&output), i32::from(number), "{command:?}: {output:?}");
        seen.insert(number);
    };
    let upgrade = |node: &str| format!("upgrade {node} --image {IMAGE}");
    for (words, number) in [
        ("status".to_owned(), 0),
        ("upgrade".to_owned(), 2),
        ("status --context none".to_owned(), 3),
        ("status forbidden".to_owned(), 4),
        ("status nobody".to_owned(), 5),
        ("retry idle --yes".to_owned(), 6),
        (upgrade("idle"), 8),
        (upgrade("idle") + " --yes --watch --timeout 1s", 7),
    ] {
        ends(&mut program(&server, &words), number);
    }
    let full = File::create("/dev/full").unwrap();
    ends(program(&server, "status").stdout(full), 9);
    // What is watched and fails, and what a signal ends, is seen in tests of their own.
    seen.extend([1, 130]);
    assert_eq!(seen, Exit::ALL.map(Exit::code).into_iter().collect());
}

#[test]
fn an_upgrade_that_is_watched_ends_with_what_has_become_of_it() {
    for (word, number) in [("Upgraded", 0), ("Failed", 1)] {
        let server = server();
        let (mut watching, id) = watched(&server);
        watching.until("idle: Asked");
        server.annotate("idle", answer(&id, word, word));
        assert_eq!(watching.end().0, Some(number), "{word}");
    }
}

#[test]
fn a_reader_that_has_had_enough_is_no_error() {
    let server = server();
    let mut watching = Running::start(&mut program(&server, "status --watch"));
    watching.until("busy: Trial");
    watching.hang_up();
    server.annotate("busy", answer("k-1", "Upgraded", "Upgraded"));
    assert_eq!(watching.end(), (Some(0), String::new()));
}

/// Where a shell is not there its script is not looked at; bash always is.
#[test]
fn each_shell_takes_its_completion_script() {
    let server = server();
    let folder = tempfile::tempdir().unwrap();
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&run(&mut program(&server, &format!("completion {shell}"))));
        assert!(script.contains("rollback"), "{shell}: {script}");
        let file = folder.path().join(shell);
        std::fs::write(&file, script).unwrap();
        match Command::new(shell).arg("-n").arg(&file).output() {
            Ok(output) => assert!(output.status.success(), "{shell}: {output:?}"),
            Err(error) => assert_ne!(shell, "bash", "{error}"),
        }
    }
}

/// The script does what it is for: a word that is begun is completed.
#[test]
fn in_bash_a_word_that_is_begun_is_completed() {
    let script = text(&run(&mut program(&server(), "completion bash")));
    let ask = r#"
COMP_WORDS=(kubectl-careen roll) COMP_CWORD=1
set -- $(complete -p kubectl-careen)
while [ "$1" != -F ]; do shift; done
"$2" kubectl-careen roll kubectl-careen
echo "${COMPREPLY[*]}""#;
    let mut bash = Command::new("bash");
    let output = run(bash.args(["-c", &(script + ask)]));
    assert_eq!(text(&output).trim(), "rollback");
}

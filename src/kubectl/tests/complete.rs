//! What `kubectl careen <TAB>` offers, in the form in which kubectl wants it.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use kubectl::complete::{answer, asked};

/// The lines of the answer, the last word being written.
fn offered(line: &str) -> Vec<String> {
    let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
    let lines = answer(&words);
    lines.lines().map(str::to_owned).collect()
}

/// Without what they mean.
fn words(line: &str) -> Vec<String> {
    let words = offered(line).into_iter();
    let word = |line: String| line.split('\t').next().unwrap().to_owned();
    words.map(word).collect()
}

#[test]
fn every_command_is_offered_with_what_it_does() {
    let all = offered("");
    assert!(
        all.contains(&"status\tShow the progress of nodes".to_owned()),
        "{all:?}"
    );
    for command in ["plan", "upgrade", "explain", "resume", "completion"] {
        assert!(
            all.iter().any(|line| line.starts_with(command)),
            "{command}: {all:?}"
        );
    }
    assert!(!all.iter().any(|line| line.contains("__complete")));
    assert_eq!(all.last().unwrap(), ":4");
    assert_eq!(words("re"), ["retry", "resume", ":4"]);
    assert_eq!(answer(&[]).lines().count(), all.len());
}

#[test]
fn flags_are_offered_those_of_the_command_and_those_of_all() {
    assert_eq!(words("plan --im"), ["--image", ":4"]);
    assert_eq!(words("plan node-1 --conte"), ["--context", ":4"]);
    assert_eq!(words("--ku"), ["--kubeconfig", ":4"]);
    assert_eq!(words("status --dry"), [":4"]);
    let short = words("upgrade -");
    assert!(short.contains(&"-l".to_owned()) && short.contains(&"--selector".to_owned()));
}

#[test]
fn values_are_offered_where_a_flag_or_a_word_has_a_few() {
    assert_eq!(words("status -o "), ["wide", "json", "yaml", ":4"]);
    assert_eq!(words("status --output=j"), ["json", ":4"]);
    assert_eq!(words("--color al"), ["always", ":4"]);
    assert_eq!(words("completion z"), ["zsh", ":4"]);
    assert_eq!(words("--kubeconfig "), [":0"], "the shell knows files");
    assert_eq!(words("plan "), [":4"], "names of nodes are not known here");
}

#[test]
fn the_value_of_a_flag_is_no_command() {
    assert_eq!(words("--context plan sta"), ["status", ":4"]);
    assert_eq!(words("--context=plan sta"), ["status", ":4"]);
    assert_eq!(words("-ojson sta"), ["status", ":4"]);
    assert_eq!(words("-o json sta"), ["status", ":4"]);
    assert_eq!(words("-- sta"), [":4"]);
}

#[test]
fn only_the_hidden_word_asks() {
    let ask = |line: &str| asked(line.split(' ').map(Into::into));
    assert_eq!(ask("kubectl-careen status"), None);
    let words = ask("kubectl-careen __complete plan --help").unwrap();
    assert_eq!(words, ["plan", "--help"]);
}

#[test]
fn the_script_that_kubectl_runs_answers() {
    let packaging = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap())
        .join("../../packaging/kubectl-careen");
    let program = Path::new(env!("CARGO_BIN_EXE_kubectl-careen"));
    let path = format!("{}:/usr/bin:/bin", program.parent().unwrap().display());
    let ran = Command::new(packaging.join("kubectl_complete-careen"))
        .args(["plan", "--ti"])
        .env("PATH", path)
        .output()
        .unwrap();
    let said = String::from_utf8(ran.stdout).unwrap();
    assert!(
        said.starts_with("--timeout\t") && said.ends_with("\n:4\n"),
        "{said}"
    );
}

//! The program itself, as the agent starts it.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use super::node::Root;

/// `careen-control` on these files, with these arguments.
pub fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-control"));
    command.arg("--root").arg(root).args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The answer as JSON, and the exit code. No secret of the node is in the output.
pub fn answer(root: &Root, arguments: &[&str]) -> (Value, Option<i32>) {
    let arguments = [arguments, &["--json"]].concat();
    let output = command(root.path(), &arguments).output().unwrap();
    without_secrets(root, &output);
    let read = serde_json::from_slice(&output.stdout);
    let read = read.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (read, output.status.code())
}

/// The codes of a survey's findings, but for the one about kubeadm, which these nodes do not have.
pub fn codes(found: &Value) -> Vec<&str> {
    let all = found["findings"].as_array().unwrap().iter();
    let is_kubeadm = |one: &&Value| one["says"].as_str().unwrap().contains("kubeadm is not in");
    all.filter(|one| !is_kubeadm(one))
        .map(|one| one["code"].as_str().unwrap())
        .collect()
}

/// What a person sees: standard output, standard error and the exit code.
pub fn shown(root: &Root, arguments: &[&str]) -> (String, String, Option<i32>) {
    let output = command(root.path(), arguments).output().unwrap();
    without_secrets(root, &output);
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    (
        text(&output.stdout),
        text(&output.stderr),
        output.status.code(),
    )
}

fn without_secrets(root: &Root, output: &Output) {
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let mut secrets = Vec::new();
    collect(&root.path().join("etc"), &mut secrets);
    for secret in secrets {
        assert!(!said.contains(&secret), "{said}");
    }
}

/// The begin of each long line: of keys, certificates and what a kubeconfig has of them.
fn collect(folder: &Path, secrets: &mut Vec<String>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, secrets);
        } else {
            let bytes = fs::read(&path).unwrap();
            let text = String::from_utf8_lossy(&bytes);
            let lines = text.lines().map(str::trim).filter(|line| line.len() > 60);
            secrets.extend(lines.map(|line| line[..60].to_owned()));
        }
    }
}

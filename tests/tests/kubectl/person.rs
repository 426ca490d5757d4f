//! A person at the command line, and an agent that gives the requested answer.

use std::io::BufRead;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::node::{TestNode, annotation, merge};
use careen_tests::wire::Wire;
use clap::Parser;
use k8s_openapi::api::core::v1::Node;
use kube::ResourceExt;
use kubectl::cli::Cli;
use kubectl::console::Console;
use kubectl::exit::Exit;
use kubectl::render::Look;
use serde_json::{Value, json};
use tokio::sync::{RwLock, RwLockReadGuard, RwLockWriteGuard};
use upgrade::names;

/// All tests share the cluster's Nodes, and a pause applies to all of them.
static ALL_NODES: RwLock<()> = RwLock::const_new(());

/// A lock for a test that changes only its own Nodes.
pub async fn own_nodes() -> RwLockReadGuard<'static, ()> {
    ALL_NODES.read().await
}

/// A lock for a test that changes all Nodes.
pub async fn all_nodes() -> RwLockWriteGuard<'static, ()> {
    ALL_NODES.write().await
}

/// How a command ended, and its output.
#[derive(Debug)]
pub struct Ran {
    pub exit: Exit,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Asserts that it ended with this exit code.
    pub fn with(self, exit: Exit) -> Result<Self> {
        ensure!(self.exit == exit, "not {exit:?}: {self:#?}");
        Ok(self)
    }

    /// Its JSON output.
    pub fn data(&self) -> Result<Value> {
        serde_json::from_str(&self.out).with_context(|| self.out.clone())
    }
}

/// Runs a command line as the administrator.
pub async fn careen(line: &str) -> Result<Ran> {
    run(&plane().await?.admin_kubeconfig(), line, None).await
}

/// Does the same with this answer to the command's question.
pub async fn careen_answering(line: &str, answer: &'static str) -> Result<Ran> {
    run(&plane().await?.admin_kubeconfig(), line, Some(answer)).await
}

/// Does the same with another kubeconfig. The command has the same timeout as everything else that
/// a test waits for.
pub async fn run(kubeconfig: &Path, line: &str, answers: Option<&'static str>) -> Result<Ran> {
    let answers = answers.map(|text| Box::new(text.as_bytes()) as Box<dyn BufRead>);
    run_asking(kubeconfig, line, answers).await
}

/// Does the same with any source of answers.
pub async fn run_asking(
    kubeconfig: &Path,
    line: &str,
    answers: Option<Box<dyn BufRead>>,
) -> Result<Ran> {
    let kubeconfig = kubeconfig.to_str().context("a path of UTF-8")?;
    let begin = ["kubectl-careen", "--kubeconfig", kubeconfig];
    let cli = Cli::try_parse_from(begin.into_iter().chain(line.split(' ')))?;
    let (mut console, captured) = Console::captured_from(Look::default(), answers);
    let result = tokio::time::timeout(PATIENCE, kubectl::run(&cli, &mut console))
        .await
        .with_context(|| format!("{line}: {captured:?}"))?;
    let (exit, error) = match result {
        Ok(exit) => (exit, String::new()),
        Err(failure) => (failure.exit(), format!("error: {failure}\n")),
    };
    let (out, err) = (captured.out(), captured.err() + &error);
    Ok(Ran { exit, out, err })
}

/// The administrator's kubeconfig with impersonation of another user.
pub async fn kubeconfig_of(user: &str, folder: &Path) -> Result<PathBuf> {
    let mut content: Value =
        serde_json::from_slice(&std::fs::read(plane().await?.admin_kubeconfig())?)?;
    content["users"][0]["user"]["as"] = json!(user);
    let path = folder.join(format!("{user}.conf"));
    std::fs::write(&path, content.to_string())?;
    Ok(path)
}

/// The administrator's kubeconfig, through a wire.
pub async fn kubeconfig_over(wire: &Wire, folder: &Path) -> Result<PathBuf> {
    let mut content: Value =
        serde_json::from_slice(&std::fs::read(plane().await?.admin_kubeconfig())?)?;
    let server = format!("https://127.0.0.1:{}", wire.port);
    content["clusters"][0]["cluster"]["server"] = json!(server);
    let path = folder.join("wire.conf");
    std::fs::write(&path, content.to_string())?;
    Ok(path)
}

/// An annotation's value, or nothing.
pub fn value(node: &Node, key: &str) -> Option<String> {
    node.annotations().get(key).cloned()
}

/// Answers the current request as the agent does, with these details.
pub async fn answer(node: &TestNode, answer: &str, details: Value) -> Result<()> {
    let id = value(&node.now().await?, names::UPGRADE_ID);
    let mut status =
        json!({ "id": id, "phase": answer, "percent": 100, "tries": 1, "reached": [] });
    merge(&mut status, details);
    node.annotate(json!({ names::ANSWER: answer, names::STATUS: status.to_string() }))
        .await
}

/// Waits for the first request to this Node, and answers it.
pub async fn answer_first(node: &TestNode, word: &str, details: Value) -> Result<()> {
    let asked = |node: &Node| !annotation(node, names::UPGRADE_ID).is_empty();
    node.until("a request", &asked).await?;
    answer(node, word, details).await
}

/// Labels a Node so that only this test selects it.
pub async fn label(node: &TestNode, label: &str) -> Result<()> {
    use kube::api::{Patch, PatchParams};
    let body = json!({ "metadata": { "labels": { label: "yes" } } });
    node.nodes()
        .patch(&node.name, &PatchParams::default(), &Patch::Merge(body))
        .await?;
    Ok(())
}

//! A person removes the lock of the control plane, and nobody else's.

use std::io::{BufReader, Error, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::{client, plane};
use careen_tests::node::{OLD_VERSION, TestNode};
use kubectl::exit::Exit;
use serde_json::{Value, json};
use tempfile::tempdir;
use tokio::runtime::Builder;
use upgrade::names;

use crate::lease::{self, TheLock};
use crate::person::{careen, careen_answering, kubeconfig_of, own_nodes, run, run_asking};

/// A Node whose upgrade `7` is in this phase.
async fn upgrading(word: &str, phase: &str) -> Result<TestNode> {
    let node = TestNode::new(word).await?;
    let status = json!({ "id": "7", "phase": phase, "percent": 60, "tries": 1, "reached": [] });
    node.annotate(json!({ names::STATUS: status.to_string() }))
        .await?;
    Ok(node)
}

#[tokio::test]
async fn unlock_shows_the_holder_and_removes_its_lock() -> Result<()> {
    let _own = own_nodes().await;
    let node = upgrading("locking", "Trial").await?;
    node.kubelet_says("boot-0", OLD_VERSION, false).await?;
    let holder = format!("{}/7", node.name);
    let lock = TheLock::of(&holder).await?;
    let ran = careen("unlock --yes").await?.with(Exit::Done)?;
    for words in [
        format!("{holder} holds the lock of the control plane\n"),
        "2025-11-22 06:21:40Z".to_owned(),
        "upgrade        Trial: ".to_owned(),
        "node           not Ready".to_owned(),
        format!(
            "do not unlock while the member of etcd on {} is away",
            node.name
        ),
        format!("{holder} does not hold the lock any more\n"),
    ] {
        ensure!(ran.out.contains(&words), "{words}: {}", ran.out);
    }
    assert_eq!(lock.holder().await?, None);
    Ok(())
}

#[tokio::test]
async fn unlock_removes_nothing_without_a_whole_yes() -> Result<()> {
    let lock = TheLock::of("alice").await?;
    let ran = careen("unlock").await?.with(Exit::Declined)?;
    ensure!(ran.err.contains("use --yes"), "{ran:?}");
    for answer in ["n\n", "y\n", "\n", ""] {
        careen_answering("unlock", answer)
            .await?
            .with(Exit::Declined)?;
    }
    assert_eq!(lock.holder().await?.as_deref(), Some("alice"));
    let ran = careen_answering("unlock", "yes\n")
        .await?
        .with(Exit::Done)?;
    ensure!(
        ran.err.contains("Remove the lock of alice? [yes/no]"),
        "{ran:?}"
    );
    assert_eq!(lock.holder().await?, None);
    Ok(())
}

#[tokio::test]
async fn unlock_keeps_the_lock_of_another_holder() -> Result<()> {
    let lock = TheLock::of("cp-2/8").await?;
    let line = "unlock --yes --holder";
    let ran = careen(&format!("{line} cp-2/7"))
        .await?
        .with(Exit::Refused)?;
    ensure!(ran.err.contains("cp-2/8 now holds the lock"), "{ran:?}");
    let data = careen(&format!("{line} cp-2/7 -o json")).await?.data()?;
    ensure!(
        data["done"] == "refused" && data["holder"] == "cp-2/8",
        "{data}"
    );
    assert_eq!(lock.holder().await?.as_deref(), Some("cp-2/8"));
    careen(&format!("{line} cp-2/8")).await?.with(Exit::Done)?;
    assert_eq!(lock.holder().await?, None);
    Ok(())
}

/// A person who gives the lock to another upgrade while the command asks, and then agrees.
struct Late {
    kubeconfig: PathBuf,
    answer: &'static [u8],
}

impl Read for Late {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        if !self.answer.is_empty() {
            let kubeconfig = self.kubeconfig.clone();
            let given = std::thread::spawn(move || give(&kubeconfig)).join();
            let given = given.map_err(|_| Error::other("the thread has died"))?;
            given.map_err(Error::other)?;
        }
        self.answer.read(into)
    }
}

fn give(kubeconfig: &Path) -> Result<()> {
    let runtime = Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let leases = lease::leases(client(kubeconfig).await?);
        lease::give(&leases, "cp-3/9").await
    })
}

#[tokio::test]
async fn unlock_keeps_a_lock_that_changed_since_the_look() -> Result<()> {
    let lock = TheLock::of("cp-2/7").await?;
    let kubeconfig = plane().await?.admin_kubeconfig();
    let late = Late {
        kubeconfig: kubeconfig.clone(),
        answer: b"yes\n",
    };
    let answers = Box::new(BufReader::new(late));
    let ran = run_asking(&kubeconfig, "unlock", Some(answers)).await?;
    let ran = ran.with(Exit::Refused)?;
    ensure!(
        ran.err.contains("has changed since it was shown"),
        "{ran:?}"
    );
    assert_eq!(lock.holder().await?.as_deref(), Some("cp-3/9"));
    lock.remove().await
}

#[tokio::test]
async fn unlock_says_whether_the_holder_is_over() -> Result<()> {
    let _own = own_nodes().await;
    let lock = TheLock::free().await?;
    let ended = upgrading("ended", "Failed").await?;
    let halted = upgrading("halted", "Halted").await?;
    for (holder, over, phase) in [
        (format!("{}/7", ended.name), json!("ended"), json!("Failed")),
        (
            format!("{}/6", ended.name),
            json!("anotherUpgrade"),
            Value::Null,
        ),
        ("no-such-node/7".to_owned(), json!("nodeGone"), Value::Null),
        (format!("{}/7", halted.name), Value::Null, json!("Halted")),
        ("alice".to_owned(), Value::Null, Value::Null),
    ] {
        lock.give(&holder).await?;
        let ran = careen("unlock -o json").await?.with(Exit::Declined)?;
        let data = ran.data()?;
        assert_eq!(data["holder"], holder.as_str());
        assert_eq!((&data["over"], &data["phase"]), (&over, &phase), "{holder}");
        assert_eq!(data["done"], "declined");
    }
    lock.give("no-such-node/7").await?;
    let ran = careen("unlock --yes").await?.with(Exit::Done)?;
    ensure!(
        ran.out.contains("takes this lock over by itself"),
        "{ran:?}"
    );
    assert_eq!(lock.holder().await?, None);
    Ok(())
}

#[tokio::test]
async fn unlock_without_a_lock_has_nothing_to_do() -> Result<()> {
    let lock = TheLock::free().await?;
    let ran = careen("unlock").await?.with(Exit::Done)?;
    assert_eq!(ran.out, "the control plane has no lock\n");
    let data = careen("unlock -o json").await?.with(Exit::Done)?.data()?;
    ensure!(
        data["done"] == "nothing" && data["holder"].is_null(),
        "{data}"
    );
    lock.give("").await?;
    careen("unlock").await?.with(Exit::Done)?;
    lock.remove().await
}

#[tokio::test]
async fn unlock_names_the_right_that_is_missing() -> Result<()> {
    let folder = tempdir()?;
    let nobody = kubeconfig_of("nobody-of-all", folder.path()).await?;
    let ran = run(&nobody, "unlock --yes", None).await?;
    let ran = ran.with(Exit::Forbidden)?;
    let right = "get leases.coordination.k8s.io careen-control-plane in kube-system";
    for words in [right, "nobody-of-all", "ClusterRole careen-unlocker"] {
        ensure!(ran.err.contains(words), "{words}: {ran:?}");
    }
    Ok(())
}

#[tokio::test]
async fn status_names_the_holder_of_the_lock() -> Result<()> {
    let _own = own_nodes().await;
    let node = upgrading("locked", "Trial").await?;
    let line = format!("status {}", node.name);
    let lock = TheLock::free().await?;
    let ran = careen(&line).await?.with(Exit::Done)?;
    ensure!(!ran.out.contains("control plane:"), "{ran:?}");
    lock.give("cp-2/7").await?;
    let ran = careen(&line).await?.with(Exit::Done)?;
    let last = ran.out.lines().last().context("no line")?;
    ensure!(
        last.starts_with("control plane: locked by cp-2/7 for "),
        "{ran:?}"
    );
    let data = careen(&format!("{line} -o json")).await?.data()?;
    ensure!(data[0]["controlPlaneLockedBy"] == "cp-2/7", "{data}");
    ensure!(data[0]["controlPlaneLockedAt"] == 1_763_792_500, "{data}");
    lock.remove().await
}

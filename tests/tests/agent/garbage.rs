//! Invalid input from any source: the agent reports it, and nothing else changes.

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::Result;
use careen_tests::machine::{NEW_IMAGE, OLD_IMAGE};
use careen_tests::node::{annotation, condition, is_cordoned};
use careen_tests::provider_process::free_address;
use careen_tests::replica::get;
use careen_tests::scene::Scene;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use upgrade::record::FORMAT;
use upgrade::{Reason, Record, RecordStore, names};

/// Makes a request with these annotations and returns the sentence of the refusal.
async fn refused(word: &str, annotations: Value) -> Result<String> {
    let scene = Scene::new(word).await?;
    scene.node.annotate(annotations).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(
        scene.machine.begun().is_empty(),
        "{word}: nothing was begun"
    );
    assert!(!is_cordoned(&node));
    Ok(annotation(&node, names::FAILURE_REASON).to_owned())
}

#[tokio::test]
async fn a_bad_request_is_refused_with_field_value_and_accepted_form() -> Result<()> {
    let scheduled = names::REQUEST_SCHEDULED;
    let cases = [
        (
            "bad-image",
            json!({ names::REQUEST: scheduled, names::IMAGE: "docker.io/os:latest" }),
            names::IMAGE,
            "docker.io/os:latest",
        ),
        (
            "no-image",
            json!({ names::REQUEST: scheduled }),
            names::IMAGE,
            "\"\"",
        ),
        (
            "bad-word",
            json!({ names::REQUEST: "now", names::IMAGE: NEW_IMAGE }),
            names::REQUEST,
            "now",
        ),
        (
            "bad-version",
            json!({ names::REQUEST: scheduled, names::IMAGE: NEW_IMAGE, names::KUBERNETES_VERSION: "1.36" }),
            names::KUBERNETES_VERSION,
            "1.36",
        ),
        (
            "bad-id",
            json!({ names::REQUEST: scheduled, names::IMAGE: NEW_IMAGE, names::UPGRADE_ID: "../etc" }),
            names::UPGRADE_ID,
            "../etc",
        ),
    ];
    for (word, annotations, field, value) in cases {
        let said = refused(word, annotations).await?;
        assert!(
            said.starts_with(field) && said.contains(value) && said.contains(". Use "),
            "{said}"
        );
    }
    Ok(())
}

/// Each answer costs two writes of the record and one of the Node.
#[tokio::test]
async fn stream_of_bad_requests_is_answered_once_a_second() -> Result<()> {
    let scene = Scene::new("stream").await?;
    let begun = std::time::Instant::now();
    for number in 0..30 {
        let image = format!("nonsense-{number}");
        let request = json!({ names::REQUEST: names::REQUEST_SCHEDULED, names::IMAGE: image });
        scene.node.annotate(request).await?;
    }
    let told = |node: &Node| annotation(node, names::FAILURE_REASON).contains("nonsense-29");
    scene.node.until("the last is answered", &told).await?;
    let seconds = begun.elapsed().as_secs();
    let answered = scene.machine.store().read()?.answered;
    assert!(answered <= seconds + 2, "{answered} answers in {seconds} s");
    Ok(())
}

#[tokio::test]
async fn broken_policy_is_named_by_line_and_fixing_it_helps() -> Result<()> {
    let scene = Scene::with_policy("policy", "trials = 2\nspeed = 9\n").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(
        said.contains("line 2, column 1") && said.contains("speed"),
        "{said}"
    );
    std::fs::write(scene.policy(), "trials = 2\n")?;
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "again" }))
        .await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_boot_loader_that_cannot_do_it_is_refused_by_name() -> Result<()> {
    let scene = Scene::new("loader").await?;
    let detail = "/boot is on LVM".to_owned();
    scene
        .machine
        .set_loader(Err(Reason::LoaderUnfit { detail }));
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).contains("LVM"));
    assert!(scene.machine.begun().is_empty());
    Ok(())
}

#[tokio::test]
async fn nothing_begins_while_kubelet_state_from_a_trial_is_owed() -> Result<()> {
    let mut scene = Scene::new("owed").await?;
    scene.machine.set_restored(Err(Reason::StateOwed {
        id: "before".to_owned(),
        detail: "the disk is full".to_owned(),
        kept: "/sysroot/ostree/careen/snapshot-before".to_owned(),
    }));
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    assert!(annotation(&node, names::FAILURE_REASON).contains("the disk is full"));
    assert!(scene.machine.begun().is_empty());
    scene.machine.set_restored(Ok(()));
    scene
        .node
        .annotate(json!({ names::UPGRADE_ID: "again" }))
        .await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn garbage_in_our_own_answers_is_written_over() -> Result<()> {
    let mut scene = Scene::new("garbage").await?;
    scene.kill_agent()?;
    scene
        .node
        .annotate(json!({ names::ANSWER: "Maybe", names::STATUS: "{", names::FAILURE_REASON: "?" }))
        .await?;
    scene.start_agent()?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    let node = scene.node.until_answered("Upgraded").await?;
    assert_eq!(annotation(&node, names::FAILURE_REASON), "");
    assert!(serde_json::from_str::<Value>(annotation(&node, names::STATUS)).is_ok());
    Ok(())
}

/// The copies of the record on the disk, by path.
fn copies(scene: &Scene) -> Result<BTreeMap<PathBuf, String>> {
    let sysroot = scene.node.folder.path().join("sysroot");
    let mut copies = BTreeMap::new();
    for file in std::fs::read_dir(sysroot.join(names::STATE_DIR))? {
        let path = file?.path();
        // The folder also contains the last valid policy.
        if path.file_stem().is_some_and(|stem| stem == "record") {
            let text = std::fs::read_to_string(&path)?;
            copies.insert(path, text);
        }
    }
    Ok(copies)
}

#[tokio::test]
async fn a_damaged_record_is_reported_and_left_for_a_person() -> Result<()> {
    let mut scene = Scene::new("damaged").await?;
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.node.until_answered("Upgraded").await?;
    scene.kill_agent()?;
    for path in copies(&scene)?.keys() {
        std::fs::write(path, "half a")?;
    }
    scene.start_agent()?;
    let node = scene.node.until_answered("Failed").await?;
    let status = annotation(&node, names::STATUS);
    assert!(status.contains("\"code\":\"RecordDamaged\""), "{status}");
    assert!(copies(&scene)?.values().all(|text| text == "half a"));
    Ok(())
}

#[tokio::test]
async fn unwritable_record_is_reported_and_the_agent_recovers() -> Result<()> {
    let metrics = free_address()?;
    let policy = format!("retry-seconds = 1\n[metrics]\nlisten = \"{metrics}\"\n");
    let mut scene = Scene::with_policy("unwritten", &policy).await?;
    // An agent that starts with this state must also report it.
    scene.kill_agent()?;
    let state = scene
        .node
        .folder
        .path()
        .join("sysroot")
        .join(names::STATE_DIR);
    // The agent writes a copy to this path before it renames it. Root can write despite any mode,
    // but not over a folder.
    let copies = ["record.a.new", "record.b.new"].map(|name| state.join(name));
    for copy in &copies {
        std::fs::create_dir_all(copy)?;
    }
    scene.node.ask_for(OLD_IMAGE).await?;
    scene.start_agent()?;
    let told = |node: &Node| condition(node).is_some_and(|told| told.1 == "RecordUnwritten");
    let node = scene.node.until("the reason is told", &told).await?;
    assert!(
        condition(&node)
            .unwrap_or_default()
            .2
            .contains("record.a.new")
    );
    assert_eq!(annotation(&node, names::ANSWER), "", "nothing is begun");
    let shown = get(metrics, "/metrics").await?;
    assert!(shown.contains("careen_agent_trouble 1"), "{shown}");
    assert!(shown.contains("careen_agent_phase{"), "{shown}");
    for copy in &copies {
        std::fs::remove_dir(copy)?;
    }
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn unreadable_machine_is_reported_and_the_agent_recovers() -> Result<()> {
    let metrics = free_address()?;
    let policy = format!("retry-seconds = 1\n[metrics]\nlisten = \"{metrics}\"\n");
    let mut scene = Scene::with_policy("unseen", &policy).await?;
    scene
        .machine
        .set_unseen(Some("reading /boot/loader: Input/output error"));
    // An agent that has never seen this machine must also report it, because that is often a boot
    // that has lost its /boot.
    scene.kill_agent()?;
    scene.start_agent()?;
    scene.node.ask_for(OLD_IMAGE).await?;
    let told = |node: &Node| condition(node).is_some_and(|told| told.1 == "MachineUnseen");
    let node = scene.node.until("the reason is told", &told).await?;
    let sentence = condition(&node).unwrap_or_default().2;
    assert!(sentence.contains("/boot/loader"), "{sentence}");
    let shown = get(metrics, "/metrics").await?;
    assert!(shown.contains("careen_agent_trouble 1"), "{shown}");
    assert_eq!(annotation(&node, names::ANSWER), "", "nothing is begun");
    scene.machine.set_unseen(None);
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

#[tokio::test]
async fn a_newer_versions_record_is_reported_and_left_to_that_version() -> Result<()> {
    let mut scene = Scene::new("newer").await?;
    scene.kill_agent()?;
    let newer = Record {
        format: FORMAT + 1,
        min_reader: FORMAT + 1,
        generation: 7,
        ..Record::default()
    };
    scene.machine.store().store(&newer)?;
    let before = copies(&scene)?;
    scene.start_agent()?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let (format, known) = (FORMAT + 1, FORMAT);
    let reason = Reason::RecordNewer { format, known };
    assert_eq!(annotation(&node, names::FAILURE_REASON), reason.to_string());
    assert!(scene.machine.begun().is_empty());
    assert_eq!(copies(&scene)?, before);
    Ok(())
}

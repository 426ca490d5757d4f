//! Control planes: three members by the hooks, one after the other, and the only member by the
//! annotation from its owner's template.

use std::time::Duration;

use anyhow::{Result, ensure};
use careen_tests::fleet::images::LATEST;
use careen_tests::management::Management;
use careen_tests::replica::Replica;
use careen_tests::wire::State;
use provider::names;
use serde_json::{Value, json};

const HOOK: &str = "UpdateMachine/update-machine";

/// A scene with this many Machines of a KubeadmControlPlane, and a replica.
async fn members(space: &str, count: usize) -> Result<(Management, Replica, Vec<String>)> {
    let scene = Management::new(space).await?;
    scene.owner("KubeadmControlPlane", "owner").await?;
    let names: Vec<_> = (0..count).map(|nth| format!("{space}-{nth}")).collect();
    for name in &names {
        scene.member(name).await?;
    }
    let replica = Replica::start(&scene, "one").await?;
    Ok((scene, replica, names))
}

/// The id of the request on a Node; empty without one.
async fn id_on(scene: &Management, name: &str) -> Result<String> {
    let annotations = scene.nodes().get(name).await?.metadata.annotations;
    let id = annotations.unwrap_or_default();
    let id = id.get(upgrade::names::UPGRADE_ID);
    Ok(id.cloned().unwrap_or_default())
}

/// Waits until one of these members has a request, while the hook is called for each, as core does.
/// Returns it with the id.
async fn until_one_is_asked(
    scene: &Management,
    replica: &Replica,
    of: &[String],
) -> Result<(String, String)> {
    let bundle = scene.until_trusted(replica).await?;
    let look = || async {
        for name in of {
            let id = id_on(scene, name).await?;
            if !id.is_empty() {
                return Ok((name.clone(), id));
            }
            let call = scene.update_call(name);
            replica.call(&bundle, HOOK, call).await?;
        }
        anyhow::bail!("none of {of:?} is asked")
    };
    scene.until("one asked", look).await
}

/// Waits until the hook answers for this member with this text.
async fn until_answer(
    scene: &Management,
    replica: &Replica,
    member: &str,
    text: &str,
) -> Result<()> {
    let bundle = scene.until_trusted(replica).await?;
    let call = || async {
        let answer = replica
            .call(&bundle, HOOK, scene.update_call(member))
            .await?;
        let message = answer["message"].as_str().unwrap_or_default();
        ensure!(message.contains(text), "{answer}");
        Ok(())
    };
    scene.until(text, call).await
}

/// The control plane manager marks one Machine at a time. Here all of them are marked at once.
#[tokio::test]
async fn three_members_are_asked_one_after_the_other() -> Result<()> {
    let (scene, replica, mut left) = members("members", 3).await?;
    for name in &left {
        scene.update(name).await?;
    }
    while !left.is_empty() {
        let (name, id) = until_one_is_asked(&scene, &replica, &left).await?;
        left.retain(|other| *other != name);
        scene.agent_works(&name, &id, "Trial").await?;
        for other in &left {
            until_answer(&scene, &replica, other, "waiting for its turn").await?;
            assert_eq!(id_on(&scene, other).await?, "", "asked beside {name}");
        }
        scene.member_upgrades(&name, &id).await?;
        until_answer(&scene, &replica, &name, "upgraded").await?;
        scene.until_annotated(&name, names::MARK, false).await?;
    }
    Ok(())
}

#[tokio::test]
async fn hurt_member_stays_protected_and_holds_the_others() -> Result<()> {
    let (scene, replica, all) = members("hurt", 2).await?;
    scene.update(&all[0]).await?;
    let (first, id) = until_one_is_asked(&scene, &replica, &all[..1]).await?;
    scene.agent_halts(&first, &id).await?;
    let reason = "ControlPlaneHurt";
    let said = scene.until_reason(&first, names::CONDITION, reason).await?;
    assert_eq!(said["message"], "failed: its etcd is away");
    scene.update(&all[1]).await?;
    until_answer(&scene, &replica, &all[1], "Node hurt-0 has halted").await?;
    assert_eq!(id_on(&scene, &all[1]).await?, "");
    for key in [names::SKIP_REMEDIATION, names::MARK] {
        scene.until_annotated(&first, key, true).await?;
    }
    let retry = json!({ "metadata": { "annotations": { names::RETRY: "1" } } });
    scene.change("Machine", &first, retry).await?;
    let again = || async {
        let now = id_on(&scene, &first).await?;
        ensure!(now != id, "still {now}");
        Ok(now)
    };
    let id = scene.until("asked again", again).await?;
    scene.member_upgrades(&first, &id).await?;
    scene
        .until_annotated(&first, names::SKIP_REMEDIATION, false)
        .await?;
    let asked = until_one_is_asked(&scene, &replica, &all[1..]).await;
    asked.map(drop)
}

/// Puts the annotation of the owner's template on the Machine whenever it is not there, and removes
/// it when the template does not have it, as the control plane manager does. Never returns.
async fn owner_applies(scene: &Management, machine: &str) -> Result<()> {
    loop {
        let owner = scene.get("KubeadmControlPlane", "owner").await?;
        let of_template = owner
            .data
            .pointer("/spec/machineTemplate/metadata/annotations");
        let wanted = of_template.and_then(|all| all.get(names::ASK)).is_some();
        let there = scene.get("Machine", machine).await?.metadata.annotations;
        let there = there.unwrap_or_default().contains_key(names::ASK);
        if wanted != there {
            let value = if wanted { json!("") } else { Value::Null };
            let change = json!({ "metadata": { "annotations": { names::ASK: value } } });
            scene.change("Machine", machine, change).await?;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn template_asks(scene: &Management, asks: bool) -> Result<()> {
    let value = if asks { json!("") } else { Value::Null };
    let metadata = json!({ "annotations": { names::ASK: value } });
    let change = json!({ "spec": { "machineTemplate": { "metadata": metadata } } });
    scene.change("KubeadmControlPlane", "owner", change).await
}

/// From the request to the end, with the API server away during the boot.
async fn only_member_arrives(scene: &Management, only: &str) -> Result<()> {
    let id = scene.until_asked(only, true).await?;
    scene
        .until_reason(only, names::READY, names::READY_REASON)
        .await?;
    scene.agent_works(only, &id, "Trial").await?;
    scene.wire.set(State::Cut);
    let said = scene
        .until_reason(only, names::CONDITION, "ApiAway")
        .await?;
    let message = said["message"].as_str().unwrap_or_default();
    ensure!(message.contains("only control-plane node"), "{message}");
    scene.wire.set(State::Open);
    scene
        .until_reason(only, names::CONDITION, "InProgress")
        .await?;
    let ready = scene.condition(only, names::READY).await?;
    ensure!(ready["status"] == "False", "{ready}");
    scene.member_upgrades(only, &id).await?;
    scene
        .until_reason(only, names::CONDITION, "Upgraded")
        .await?;
    let ready = scene.until_reason(only, names::READY, "Ready").await?;
    ensure!(ready["status"] == "True", "{ready}");
    let infra = scene.get("HostMachine", only).await?;
    ensure!(infra.data["status"]["version"] == LATEST.version);
    scene.until_annotated(only, names::MARK, false).await
}

/// How often the Machine changes in a second.
async fn changes_in_a_second(scene: &Management, machine: &str) -> Result<u32> {
    let mut changes = 0;
    let mut last = scene.get("Machine", machine).await?.metadata;
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(50)).await;
        let now = scene.get("Machine", machine).await?.metadata;
        changes += u32::from(now.resource_version != last.resource_version);
        last = now;
    }
    Ok(changes)
}

#[tokio::test]
async fn only_member_follows_the_annotation_of_its_template() -> Result<()> {
    let (scene, _replica, all) = members("only", 1).await?;
    let only = all[0].as_str();
    template_asks(&scene, true).await?;
    let version = json!({ "spec": { "version": LATEST.version } });
    scene.change("Machine", only, version).await?;
    let upgraded = async {
        only_member_arrives(&scene, only).await?;
        let changes = changes_in_a_second(&scene, only).await?;
        assert_eq!(changes, 0, "the owner and the provider undo each other");
        scene.until_annotated(only, names::ASK, true).await?;
        template_asks(&scene, false).await?;
        scene.until_annotated(only, names::ASK, false).await
    };
    tokio::select! {
        upgraded = upgraded => upgraded,
        failed = owner_applies(&scene, only) => failed,
    }
}

#[tokio::test]
async fn only_member_loses_an_annotation_by_hand_when_it_arrives() -> Result<()> {
    let (scene, _replica, all) = members("by-hand", 1).await?;
    scene.ask(&all[0]).await?;
    only_member_arrives(&scene, &all[0]).await?;
    scene.until_annotated(&all[0], names::ASK, false).await
}

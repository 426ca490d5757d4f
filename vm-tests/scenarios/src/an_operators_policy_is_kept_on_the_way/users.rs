//! The node's users: pods that must leave in order, load balancers, and the operator's hooks around
//! them.

use anyhow::Context;
use k8s_openapi::api::core::v1::{Namespace, Node, Pod, ServiceAccount};
use kube::api::PostParams;
use kube::runtime::wait::{await_condition, conditions};
use kube::{Api, Client, ResourceExt};
use rig::node::NAME;
use rig::patience::within;
use tokio::time::Instant;

use super::super::prelude::*;
use super::asked::{GRACE, ID, LAST, LATE, LOAD_BALANCERS, SLOW};
use super::watching;

/// The file for the hooks' output. /var is the same in both systems.
const NOTES: &str = "/var/lib/rig-notes";

/// One pod that terminates within a second, and one that uses all its time: `sleep` as PID 1
/// ignores SIGTERM.
pub async fn pods(client: &Client) -> Result<()> {
    let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": LAST.0}}))?;
    let namespaces: Api<Namespace> = Api::all(client.clone());
    namespaces
        .create(&PostParams::default(), &namespace)
        .await?;
    for ((namespace, name), grace) in [(LAST, 1), (SLOW, GRACE)] {
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), namespace);
        let made = await_condition(accounts, "default", |found: Option<&ServiceAccount>| {
            found.is_some()
        });
        let made = within(MINUTE, made).await;
        made.with_context(|| format!("{namespace} has no service account"))??;
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": name},
            "spec": {
                "terminationGracePeriodSeconds": grace,
                "automountServiceAccountToken": false,
                "containers": [{
                    "name": name,
                    "image": "localhost/busybox:rig",
                    "imagePullPolicy": "Never",
                    "command": ["sleep", "infinity"],
                }],
            },
        }))?;
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        pods.create(&PostParams::default(), &pod).await?;
        let runs = await_condition(pods, name, conditions::is_pod_running());
        let runs = within(3 * MINUTE, runs).await;
        runs.with_context(|| format!("pod {name} does not run"))??;
    }
    Ok(())
}

/// Hooks that write down in which order they ran, and for what. The last one holds the upgrade
/// before the node becomes schedulable.
pub async fn hooks(rig: &mut Rig) -> Result<()> {
    let script = format!(
        "set -e\numask 022\nmkdir -p /etc/careen/pre.d /etc/careen/post.d\n\
         hook() {{ printf '#!/bin/sh\\n%s\\n' \"$2\" >/etc/careen/$1 && chmod 755 /etc/careen/$1; }}\n\
         hook pre.d/20-second 'echo second $CAREEN_UPGRADE_ID >>{NOTES}'\n\
         hook pre.d/10-first 'echo first $CAREEN_UPGRADE_ID >>{NOTES}'\n\
         hook post.d/10-last 'echo last $CAREEN_UPGRADE_ID $CAREEN_OUTCOME >>{NOTES}'\n"
    );
    rig.guest.run(&script).await?;
    rig.hold_post_hook().await
}

/// Checks what the hooks have written so far; nothing if none has run.
pub async fn expect_notes(rig: &mut Rig, wanted: &[String]) -> Result<()> {
    let found = rig
        .guest
        .run(&format!("touch {NOTES}; cat {NOTES}"))
        .await?;
    let found: Vec<_> = found.lines().collect();
    ensure!(found == wanted, "the hooks say {found:?}, not {wanted:?}");
    Ok(())
}

fn notes_of_the_pre_hooks() -> Vec<String> {
    vec![format!("first {ID}"), format!("second {ID}")]
}

/// After the pre-hooks the agent asks load balancers to exclude the node. The cordon follows when
/// they have had their time.
pub async fn excluded_then_drained(rig: &mut Rig, client: &Client) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let marked = await_condition(nodes.clone(), NAME, |found: Option<&Node>| {
        found.is_some_and(is_excluded)
    });
    let node = within(UPGRADE, marked).await;
    let node = node.context("load balancers are not asked to leave the node out")??;
    let since = Instant::now();
    rig.progress.step("out of the load balancers");
    let node = node.context("the Node is gone")?;
    let cordoned = node.spec.and_then(|spec| spec.unschedulable);
    ensure!(cordoned != Some(true), "the cordon came first");
    expect_notes(rig, &notes_of_the_pre_hooks()).await?;
    watching::expect_in_the_middle(rig).await?;

    let view = rig
        .node
        .wait("the cordon", 5 * MINUTE, |view| !view.schedulable)
        .await?;
    let waited = since.elapsed().as_secs();
    ensure!(
        waited + LATE >= LOAD_BALANCERS,
        "the cordon came {waited} s behind the label, not {LOAD_BALANCERS}"
    );
    ensure!(
        view.cordoned_by.as_deref() == Some(ID),
        "cordoned by {:?}",
        view.cordoned_by
    );
    ensure!(is_excluded(&nodes.get(NAME).await?), "back in the pools");
    Ok(())
}

/// Kubernetes' label, and our own marker.
fn is_excluded(node: &Node) -> bool {
    let mark = node.annotations().get(names::EXCLUDED_BY);
    let label = node.labels().get(names::EXCLUDED);
    label.is_some_and(|label| label == "true") && mark.is_some_and(|mark| mark == ID)
}

/// The agent asks the last pod to leave only when the one before it has ended, however long that
/// takes. The object of the ended pod may still be there.
pub async fn leave_in_order(client: &Client) -> Result<()> {
    let pods = |namespace| -> Api<Pod> { Api::namespaced(client.clone(), namespace) };
    let is_asked =
        |found: Option<&Pod>| found.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some());
    let asked = await_condition(pods(LAST.0), LAST.1, is_asked);
    let asked = within(5 * MINUTE, asked).await;
    asked.with_context(|| format!("{} is not asked to go", LAST.1))??;
    let slow = pods(SLOW.0).get_opt(SLOW.1).await?;
    ensure!(
        slow.as_ref().is_none_or(has_ended),
        "{} was asked before its turn: {slow:?}",
        LAST.1
    );
    Ok(())
}

fn has_ended(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let phase = status.and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// After the blessing the post-hooks run. The cordon and the label are removed after them.
pub async fn given_back(rig: &mut Rig, client: &Client) -> Result<()> {
    rig.wait_guest(&format!("until grep -qs ^last {NOTES}; do sleep 0.5; done"))
        .await?;
    watching::wait_condition(rig, "True Blessed").await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get(NAME).await?;
    let cordoned = node.spec.as_ref().and_then(|spec| spec.unschedulable);
    ensure!(
        cordoned == Some(true) && is_excluded(&node),
        "the node was given back before the post-hooks had ended"
    );
    rig.let_post_hook_go().await
}

/// Checks that the hooks ran once each and that load balancers include the node again.
pub async fn expect_served(rig: &mut Rig, client: &Client) -> Result<()> {
    let mut notes = notes_of_the_pre_hooks();
    notes.push(format!("last {ID} Upgraded"));
    expect_notes(rig, &notes).await?;
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get(NAME).await?;
    let marked = node.labels().contains_key(names::EXCLUDED)
        || node.annotations().contains_key(names::EXCLUDED_BY);
    ensure!(!marked, "load balancers still leave the node out");
    Ok(())
}

//! The verbs of `careen-control` on the members of a cluster.

use std::process::Output;
use std::time::Duration;

use anyhow::{Context, Result};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use native::{Counter, Etcd, Member, built, until};
use serde_json::{Value, json};

/// The longest time without a write. An election alone would take more than a second.
const GAP: Duration = Duration::from_secs(5);

/// The answer of a verb, and its exit code.
pub async fn answer(member: &Member, arguments: &[&str]) -> Result<(Value, Option<i32>)> {
    let program = built("careen-control", "careen-control")?;
    let program = program.to_str().context("a path that is no text")?;
    let mut command = member.command(program, &[arguments, &["--json"]].concat())?;
    let output = tokio::task::spawn_blocking(move || command.output()).await??;
    read(&output)
}

fn read(output: &Output) -> Result<(Value, Option<i32>)> {
    let answer = serde_json::from_slice(&output.stdout);
    Ok((
        answer.with_context(|| format!("{output:?}"))?,
        output.status.code(),
    ))
}

/// Two ask at once, all API servers restart, and the Node of a holder goes.
pub async fn one_node_has_the_lock(members: &[Member], client: &Client) -> Result<()> {
    let take = async |number: usize| answer(&members[number], &["lock", "--upgrade", "7"]).await;
    let (first, second) = tokio::join!(take(0), take(1));
    let found = [first?, second?];
    let winner = usize::from(found[0].1 != Some(0));
    let holder = format!("{}/7", members[winner].name());
    assert_eq!(found[winner].0["holder"], holder, "{found:?}");
    let expected = (&json!("busy"), &json!(holder), Some(3));
    let (busy, code) = &found[1 - winner];
    assert_eq!((&busy["answer"], &busy["holder"], *code), expected);

    for member in members {
        member.kill_pod("kube-apiserver")?;
    }
    for member in members {
        until("an API server again", async || {
            member.api_server_is_ready().await
        })
        .await;
    }
    let (again, _) = take(winner).await?;
    assert_eq!(again["taken"]["how"], "before", "{again}");
    assert_eq!(take(1 - winner).await?.1, Some(3));
    let (released, _) = answer(&members[winner], &["unlock", "--upgrade", "7"]).await?;
    assert_eq!(released["answer"], "released", "{released}");
    a_holder_whose_node_was_deleted_is_over(members, client).await
}

async fn a_holder_whose_node_was_deleted_is_over(
    members: &[Member],
    client: &Client,
) -> Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let by = PatchParams::apply("test");
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": "cp-9" } });
    nodes.patch("cp-9", &by, &Patch::Apply(node)).await?;
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": "careen-control-plane" }, "spec": { "holderIdentity": "cp-9/7" } });
    leases
        .patch("careen-control-plane", &by, &Patch::Apply(lease))
        .await?;
    let (busy, _) = answer(&members[2], &["lock", "--upgrade", "8"]).await?;
    assert_eq!(busy["holder"], "cp-9/7", "{busy}");
    nodes.delete("cp-9", &DeleteParams::default()).await?;
    let (over, _) = answer(&members[2], &["lock", "--upgrade", "8"]).await?;
    assert_eq!(over["taken"]["because"], "nodeGone", "{over}");
    let (released, _) = answer(&members[2], &["unlock", "--upgrade", "8"]).await?;
    assert_eq!(released["answer"], "released", "{released}");
    Ok(())
}

/// A counter is written through the load balancer all the time.
pub async fn the_leader_yields_without_a_lost_write(
    members: &[Member],
    etcds: &[Etcd],
    leader: usize,
    client: &Client,
) -> Result<()> {
    let counter = Counter::start(client.clone());
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (moved, code) = answer(&members[leader], &["yield"]).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    let (written, gap) = counter.end().await?;
    eprintln!("{written} writes, the longest gap took {gap:?}");
    assert_eq!(
        (&moved["answer"], code),
        (&json!("moved"), Some(0)),
        "{moved}"
    );
    assert_eq!(moved["from"], members[leader].name());
    for etcd in etcds {
        let status = etcd.status().await?;
        assert_ne!(
            status["leader"],
            etcds[leader].status().await?["header"]["member_id"]
        );
    }
    assert!(gap < GAP, "{gap:?}");
    let (stayed, _) = answer(&members[leader], &["yield"]).await?;
    assert_eq!(stayed["because"], "follows", "{stayed}");
    Ok(())
}

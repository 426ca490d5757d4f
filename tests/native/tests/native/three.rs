//! Three members: `careen-control` on them, then they lose their power and their network, one after
//! the other, and at last all their data. All of this is one test, because the cluster takes the
//! better part of a minute.

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::Client;
use kube::api::{Api, ListParams, PostParams};
use native::{Cluster, Etcd, Member, until};
use serde_json::{Value, json};

use crate::control;
use crate::restore;

#[tokio::test]
async fn three_members_share_one_etcd() -> anyhow::Result<()> {
    let cluster = Cluster::start(3)?;
    eprintln!("kubeadm took {:?}", cluster.took());
    let members = cluster.members();
    let client = cluster.client().await?;
    let mut etcds = Vec::new();
    for member in members {
        etcds.push(member.etcd().await?);
    }
    all_vote_and_agree_on_a_leader(&etcds).await?;
    all_nodes_are_ready(&client).await?;
    control::one_node_has_the_lock(members, &client).await?;
    let (leader, _) = parted(members, &etcds).await;
    control::the_leader_yields_without_a_lost_write(members, &etcds, leader, &client).await?;

    let (leader, others) = parted(members, &etcds).await;
    a_member_without_its_network_is_gone_and_comes_back(members, &etcds, others[0]).await?;
    members[leader].cut_power();
    until("a write without the leader", async || {
        writes(&client, "two").await
    })
    .await;
    members[others[0]].cut_power();
    without_a_quorum_nothing_is_written(&members[others[1]], &etcds[others[1]], &client).await;
    members[others[0]].boot()?;
    until("a write with the quorum back", async || {
        writes(&client, "again").await
    })
    .await;
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    assert!(
        maps.get_opt("two").await?.is_some(),
        "what was written is there"
    );
    members[leader].boot()?;
    restore::a_destroyed_etcd_comes_back_from_one_snapshot(members, &etcds, &client).await
}

async fn all_vote_and_agree_on_a_leader(etcds: &[Etcd]) -> anyhow::Result<()> {
    let list = etcds[0].call("cluster/member/list", &json!({})).await?;
    let members = list["members"].as_array().cloned().unwrap_or_default();
    assert_eq!(members.len(), etcds.len(), "{list}");
    assert!(
        members.iter().all(|one| one.get("isLearner").is_none()),
        "{list}"
    );
    let leader = etcds[0].status().await?["leader"].clone();
    assert!(leader.is_string());
    for etcd in etcds {
        assert_eq!(etcd.status().await?["leader"], leader);
    }
    Ok(())
}

async fn all_nodes_are_ready(client: &Client) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let nodes = nodes.list(&ListParams::default()).await?;
    let ready = |node: &Node| {
        let status = node.status.clone().unwrap_or_default();
        let conditions = status.conditions.unwrap_or_default();
        conditions
            .iter()
            .any(|one| one.type_ == "Ready" && one.status == "True")
    };
    assert_eq!(nodes.items.iter().filter(|node| ready(node)).count(), 3);
    Ok(())
}

/// The number of the leader, and those of the others.
async fn parted(members: &[Member], etcds: &[Etcd]) -> (usize, Vec<usize>) {
    let mut others = Vec::new();
    for (number, etcd) in etcds.iter().enumerate() {
        let status = etcd.status().await.unwrap();
        if status["leader"] != status["header"]["member_id"] {
            others.push(number);
        }
    }
    let leader = (0..members.len()).find(|number| !others.contains(number));
    (leader.expect("a leader"), others)
}

async fn a_member_without_its_network_is_gone_and_comes_back(
    members: &[Member],
    etcds: &[Etcd],
    one: usize,
) -> anyhow::Result<()> {
    members[one].cut_network()?;
    assert!(
        etcds[one].status().await.is_err(),
        "it answers without a network"
    );
    let own = "ETCDCTL= true; cat /proc/net/dev";
    assert!(
        members[one].run("sh", &["-c", own]).is_ok(),
        "its processes go on"
    );
    members[one].restore_network()?;
    until("a leader again", async || {
        etcds[one]
            .status()
            .await
            .is_ok_and(|status| status["leader"].is_string())
    })
    .await;
    Ok(())
}

async fn without_a_quorum_nothing_is_written(left: &Member, etcd: &Etcd, client: &Client) {
    let expected = json!(["etcdserver: no leader"]);
    until("no leader", async || {
        let status: Value = etcd.status().await.unwrap_or_default();
        status["errors"] == expected && status.get("leader").is_none()
    })
    .await;
    assert!(!writes(client, "never").await);
    assert!(!left.api_server_is_ready().await);
}

pub async fn writes(client: &Client, name: &str) -> bool {
    let maps: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let mut map = ConfigMap::default();
    map.metadata.name = Some(name.to_owned());
    match maps.create(&PostParams::default(), &map).await {
        Ok(_) => true,
        // An earlier try was written, and its answer was lost.
        Err(kube::Error::Api(status)) => status.code == 409,
        Err(_) => false,
    }
}

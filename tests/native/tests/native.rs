//! The native layer itself.

use native::Cluster;

#[tokio::test]
async fn a_cluster_of_one_serves() -> anyhow::Result<()> {
    let cluster = Cluster::start(1)?;
    println!("{:?}", cluster.took());
    println!(
        "{}",
        cluster.members()[0].run("kubectl", &["get", "nodes,pods", "-A", "-o", "wide"])?
    );
    println!("{:#}", cluster.members()[0].etcd().await?.status().await?);
    Ok(())
}

#[tokio::test]
async fn three_members_share_one_etcd() -> anyhow::Result<()> {
    let cluster = Cluster::start(3)?;
    println!("{:?}", cluster.took());
    println!(
        "{}",
        cluster.members()[0].run("kubectl", &["get", "nodes,pods", "-A", "-o", "wide"])?
    );
    println!(
        "{:#}",
        cluster.members()[0]
            .etcd()
            .await?
            .call("cluster/member/list", &serde_json::json!({}))
            .await?
    );
    Ok(())
}

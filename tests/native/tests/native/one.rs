//! A cluster of one. All of this is one test, because a cluster takes some seconds.

use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Client;
use kube::api::Api;
use native::{Cluster, Member, until};
use serde_json::json;

const PODS: [&str; 4] = [
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
];

const SCHEDULER: &str = "/etc/kubernetes/manifests/kube-scheduler.yaml";

#[tokio::test]
async fn a_cluster_of_one_serves_and_leaves_nothing() -> anyhow::Result<()> {
    let network = interfaces();
    let cluster = Cluster::start(1)?;
    eprintln!("kubeadm took {:?}", cluster.took());
    let member = &cluster.members()[0];
    let client = cluster.client().await?;
    its_node_and_its_pods_are_ready(member, &client).await?;
    its_etcd_answers(member).await?;
    a_killed_pod_starts_again(member, &client).await?;
    pods_outlive_their_kubelet(member, &client).await?;
    a_changed_manifest_restarts_its_pod(member, &client).await?;
    a_pod_without_a_manifest_goes(member, &client).await?;
    the_host_is_not_written(member);
    nothing_is_left_after_a_cluster(cluster);
    assert_eq!(interfaces(), network);
    Ok(())
}

async fn its_node_and_its_pods_are_ready(member: &Member, client: &Client) -> anyhow::Result<()> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = nodes.get(member.name()).await?;
    let status = node.status.unwrap_or_default();
    let ready = status.conditions.unwrap_or_default();
    assert!(
        ready
            .iter()
            .any(|one| one.type_ == "Ready" && one.status == "True")
    );
    let addresses = status.addresses.unwrap_or_default();
    assert_eq!(addresses[0].address, member.address().to_string());
    assert!(
        status
            .node_info
            .unwrap_or_default()
            .kubelet_version
            .starts_with("v1.")
    );
    for pod in PODS {
        until(pod, async || is_ready(member, client, pod).await).await;
    }
    assert!(member.api_server_is_ready().await);
    Ok(())
}

async fn its_etcd_answers(member: &Member) -> anyhow::Result<()> {
    let etcd = member.etcd().await?;
    let status = etcd.status().await?;
    assert_eq!(status["leader"], status["header"]["member_id"], "{status}");
    assert!(status.get("errors").is_none(), "{status}");
    let alarms = etcd
        .call("maintenance/alarm", &json!({"action": "GET"}))
        .await?;
    assert!(alarms.get("alarms").is_none(), "{alarms}");
    let arguments = fs::read_to_string(member.path("/etc/kubernetes/manifests/etcd.yaml")?)?;
    assert!(
        !arguments.contains("no-fsync"),
        "its data must outlive a power cut"
    );
    Ok(())
}

async fn a_killed_pod_starts_again(member: &Member, client: &Client) -> anyhow::Result<()> {
    let before = member.pod_process("kube-scheduler")?;
    member.kill_pod("kube-scheduler")?;
    until("another process", async || process(member) != Some(before)).await;
    until("one restart, and Ready", async || {
        let pod = mirror(member, client, "kube-scheduler").await;
        restarts(pod.as_ref()) == Some(1) && is_ready(member, client, "kube-scheduler").await
    })
    .await;
    Ok(())
}

async fn pods_outlive_their_kubelet(member: &Member, client: &Client) -> anyhow::Result<()> {
    let before = PODS.map(|pod| member.pod_process(pod).unwrap());
    member.stop_kubelet()?;
    assert!(member.api_server_is_ready().await);
    member.kill_pod("kube-scheduler")?;
    member.start_kubelet()?;
    until("the dead pod's successor", async || {
        process(member) != Some(before[3])
    })
    .await;
    let after = PODS.map(|pod| member.pod_process(pod).unwrap());
    assert_eq!(after[..3], before[..3], "the others were taken over");
    until("Ready", async || {
        is_ready(member, client, "kube-scheduler").await
    })
    .await;
    Ok(())
}

async fn a_changed_manifest_restarts_its_pod(
    member: &Member,
    client: &Client,
) -> anyhow::Result<()> {
    let before = PODS.map(|pod| member.pod_process(pod).unwrap());
    let hash = hash(member, client).await;
    let changed = member
        .read(SCHEDULER)?
        .replace("- kube-scheduler\n", "- kube-scheduler\n    - --v=1\n");
    member.write(SCHEDULER, &changed)?;
    until("another process", async || {
        process(member) != Some(before[3])
    })
    .await;
    until("another mirror pod", async || {
        self::hash(member, client).await != hash
    })
    .await;
    until("Ready", async || {
        is_ready(member, client, "kube-scheduler").await
    })
    .await;
    let process = member.pod_process("kube-scheduler")?;
    let words = member.read(&format!("/proc/{process}/cmdline"))?;
    assert!(words.contains("--v=1"), "{words}");
    let after = PODS.map(|pod| member.pod_process(pod).unwrap());
    assert_eq!(after[..3], before[..3], "the others run on");
    Ok(())
}

async fn a_pod_without_a_manifest_goes(member: &Member, client: &Client) -> anyhow::Result<()> {
    let kept = member.read(SCHEDULER)?;
    member.write(SCHEDULER, "")?;
    until("no mirror pod", async || {
        mirror(member, client, "kube-scheduler").await.is_none()
    })
    .await;
    assert!(member.pod_process("kube-scheduler").is_err());
    member.write(SCHEDULER, &kept)?;
    until("Ready", async || {
        is_ready(member, client, "kube-scheduler").await
    })
    .await;
    Ok(())
}

fn the_host_is_not_written(member: &Member) {
    assert!(member.run("touch", &["/usr/native-was-here"]).is_err());
    member
        .run("touch", &["/etc/native-was-here", "/var/native-was-here"])
        .unwrap();
    for path in [
        "/etc/native-was-here",
        "/var/native-was-here",
        "/etc/kubeadm.yaml",
    ] {
        assert!(!Path::new(path).exists(), "{path} is on the host");
    }
}

fn nothing_is_left_after_a_cluster(cluster: Cluster) {
    let folder = cluster.folder().to_owned();
    let first = cluster.members()[0].path("").unwrap();
    assert!(first.exists());
    drop(cluster);
    assert!(!folder.exists(), "{} is left", folder.display());
    assert!(!first.exists(), "{} is left", first.display());
    let folder = folder.to_str().unwrap();
    assert!(
        !fs::read_to_string("/proc/self/mountinfo")
            .unwrap()
            .contains(folder)
    );
    for process in fs::read_dir("/proc").unwrap().flatten() {
        for file in ["cmdline", "mountinfo"] {
            let text = fs::read(process.path().join(file)).unwrap_or_default();
            let text = String::from_utf8_lossy(&text);
            assert!(
                !text.contains(folder),
                "{}: {text}",
                process.path().display()
            );
        }
    }
}

/// The network interfaces of the host.
fn interfaces() -> Vec<String> {
    let all = fs::read_dir("/sys/class/net").unwrap().flatten();
    let mut names: Vec<_> = all
        .map(|one| one.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

/// The scheduler's process.
fn process(member: &Member) -> Option<i64> {
    member.pod_process("kube-scheduler").ok()
}

async fn mirror(member: &Member, client: &Client, pod: &str) -> Option<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), "kube-system");
    pods.get_opt(&format!("{pod}-{}", member.name()))
        .await
        .ok()?
}

async fn hash(member: &Member, client: &Client) -> Option<String> {
    let pod = mirror(member, client, "kube-scheduler").await?;
    pod.metadata
        .annotations?
        .remove("kubernetes.io/config.hash")
}

async fn is_ready(member: &Member, client: &Client, pod: &str) -> bool {
    let Some(pod) = mirror(member, client, pod).await else {
        return false;
    };
    let conditions = pod
        .status
        .unwrap_or_default()
        .conditions
        .unwrap_or_default();
    conditions
        .iter()
        .any(|one| one.type_ == "Ready" && one.status == "True")
}

fn restarts(pod: Option<&Pod>) -> Option<i32> {
    let containers = pod?.status.as_ref()?.container_statuses.as_ref()?;
    Some(containers.first()?.restart_count)
}

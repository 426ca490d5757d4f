//! What a survey finds at an external etcd: its members, at the endpoints that lead to them.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use std::fs;
use std::time::Duration;

use control::etcd::Found;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use rig::{Cluster, Root, answer, codes, mirror, node, within};
use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;
use upgrade::control_plane::{AlarmKind, Hold, Leave, quorum};

fn healthy(found: &Found) -> usize {
    found.members.iter().filter(|one| one.is_healthy()).count()
}

fn may(found: &Found) -> Result<Leave, Hold> {
    // All of them are on loopback, so any of them is a member of this node.
    quorum(&found.members, found.me.unwrap()).may
}

#[test]
fn external_quorum_counts_members_not_endpoints() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        cluster.healthy(3).await;
        // Etcd as a service of each node, and its own loopback as the only endpoint.
        for endpoints in [&[0][..], &[0, 1]] {
            let well = |found: &Found| healthy(found) == 3 && found.unread.is_empty();
            let found = cluster.external_at(endpoints, "healthy", well).await;
            assert_eq!(may(&found), Ok(Leave::Spare(0)), "{found:#?}");
            let names = found.members.iter().map(|one| one.name.as_str());
            let mut names: Vec<_> = names.collect();
            names.sort_unstable();
            assert_eq!(names, ["cp-1", "cp-2", "cp-3"]);
        }

        cluster.kill(1);
        let two = |found: &Found| healthy(found) == 2;
        let found = cluster.external_at(&[0], "two healthy", two).await;
        assert_eq!(found.members.len(), 3, "{found:#?}");
        match may(&found) {
            Err(Hold::TooFew { needed: 2, sick }) => assert_eq!(sick, ["cp-2"]),
            other => panic!("{other:?}"),
        }
    });
}

#[test]
fn alarms_are_asked_of_an_endpoint_with_a_leader() {
    within(async {
        let mut cluster = Cluster::start::<3>();
        let members = cluster.healthy(3).await.members;
        let at = |name: &str| ["cp-1", "cp-2", "cp-3"].iter().position(|one| *one == name);
        let places = members.iter().map(|one| at(one.name.as_str()).unwrap());
        let places: Vec<_> = places.collect();
        // The first endpoint, and the first in the list, answers for itself alone.
        cluster.cut_off(places[0]);
        let cut = |found: &Found| {
            let sick = found.members.iter().filter_map(|one| one.sick.as_ref());
            let alone = sick.filter(|why| why.as_str().contains("no leader"));
            alone.count() == 1 && healthy(found) == 2
        };
        let found = cluster.external_at(&places, "two healthy", cut).await;
        assert!(found.unread.is_empty(), "{found:#?}");

        cluster.raise_at(places[1], members[1].id, "NOSPACE").await;
        let alarmed = |found: &Found| !found.alarms.is_empty();
        let found = cluster.external_at(&places, "alarmed", alarmed).await;
        assert_eq!(found.alarms[0].kind, AlarmKind::NoSpace);
        assert!(found.unread.is_empty(), "{found:#?}");
    });
}

/// etcd takes no user from a client certificate at this port, and refuses one that names a user.
#[test]
fn etcd_that_demands_users_has_no_healthy_majority() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        cluster.demand_users().await;
        let none = |found: &Found| healthy(found) == 0;
        let found = cluster.external_once("refused", none).await;
        let why = found.members[0].sick.as_ref().unwrap().as_str();
        assert!(why.contains("CommonName"), "{why}");
    });
}

/// Says in kubeadm-config that etcd is external, at this endpoint.
async fn configure(client: &Client, endpoint: &str) {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let pki = "/etc/kubernetes/pki/etcd";
    let text = format!(
        "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n\
        kubernetesVersion: v1.36.3\netcd: {{external: {{endpoints: [{endpoint}], caFile: {pki}/ca.crt, \
        certFile: {pki}/healthcheck-client.crt, keyFile: {pki}/healthcheck-client.key}}}}\n"
    );
    let patch = Patch::Merge(json!({ "data": { "ClusterConfiguration": text } }));
    let by = PatchParams::default();
    maps.patch("kubeadm-config", &by, &patch).await.unwrap();
}

/// The node of a cluster whose etcd was stacked once: an old certificate is left.
async fn moved(plane: &ControlPlane, cluster: &Cluster) -> Root {
    let client = plane.client().await.unwrap();
    node(&client, "cp-1", json!({})).await;
    for component in [
        "kube-apiserver",
        "kube-controller-manager",
        "kube-scheduler",
    ] {
        mirror(&client, component, "cp-1", "v1.36.3").await;
    }
    configure(&client, &cluster.address(0).to_string()).await;
    let root = Root::new();
    root.pods("v1.36.3");
    root.member(cluster, 0);
    let old = cluster
        .authority
        .sign_between("old", 1990, 1999)
        .certificate;
    root.put("/etc/kubernetes/pki/etcd/server.crt", &old);
    let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
    root.put("/etc/kubernetes/admin.conf", &admin);
    let kubelet = plane.node_kubeconfig("cp-1", Duration::from_secs(3600));
    let kubelet = fs::read_to_string(kubelet.unwrap()).unwrap();
    root.put("/etc/kubernetes/kubelet.conf", &kubelet);
    root
}

#[test]
fn kubeadm_config_decides_that_etcd_is_external() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        let folder = folder.path().join("cluster");
        let plane = ControlPlane::start(&folder).await.unwrap();
        let root = moved(&plane, &cluster).await;
        let manifest = root.folder().path("/etc/kubernetes/manifests/etcd.yaml");
        // The external member is a static pod here; then only its old files are left.
        for _ in 0..2 {
            let (found, _) = answer(&root, &["survey"]);
            assert_eq!(found["survey"]["kind"], "external", "{found:#}");
            let expected = ["SingleMember", "ExternalEtcd", "NoOtherNode"];
            assert_eq!(codes(&found), expected, "{found:#}");
            assert_eq!(found["survey"]["unseen"].as_array().unwrap().len(), 1);
            assert_eq!(found["survey"]["room"], Value::Null);
            let (refused, _) = answer(&root, &["save", "--upgrade", "7"]);
            assert_eq!(refused["because"], "external", "{refused}");
            let (stayed, _) = answer(&root, &["yield"]);
            assert_eq!(stayed["because"], "external", "{stayed}");
            let _ = fs::remove_file(&manifest);
        }
    });
}

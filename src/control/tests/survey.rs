//! The program itself, on a node's files, with a real API server and a real etcd.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, PostParams};
use rig::{Cluster, Root, codes, mirror, node, within};
use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;

/// Runs the program as an operator does.
fn program(root: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-control"));
    command.arg("--root").arg(root).args(arguments);
    command.output().unwrap()
}

fn shown(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn survey(root: &Path, more: &[&str]) -> (Value, Option<i32>) {
    let output = program(root, &[&["survey", "--json"], more].concat());
    let read = serde_json::from_slice(&output.stdout);
    let read = read.unwrap_or_else(|error| panic!("{error}: {output:?}"));
    (read, output.status.code())
}

/// Each file below a folder: its content and when it was changed.
fn files(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, SystemTime)> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(files(&path));
        } else {
            let changed = path.metadata().unwrap().modified().unwrap();
            all.insert(path.clone(), (fs::read(&path).unwrap(), changed));
        }
    }
    all
}

async fn hold(client: &Client, holder: &str) {
    let lease: Lease =
        serde_json::from_value(json!({ "metadata": { "name": "careen-control-plane" },
        "spec": { "holderIdentity": holder, "acquireTime": "2026-11-29T00:00:00.000000Z" } }))
        .unwrap();
    let api: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    api.create(&PostParams::default(), &lease).await.unwrap();
}

#[test]
fn a_survey_of_a_real_cluster_says_what_is_there() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let cluster = Cluster::start::<1>();
        let plane = ControlPlane::start(&folder.path().join("cluster"))
            .await
            .unwrap();
        let client = plane.client().await.unwrap();
        let kcp = json!({ "cluster.x-k8s.io/owner-kind": "KubeadmControlPlane" });
        node(&client, "cp-1", kcp).await;
        node(&client, "cp-2", json!({})).await;
        cluster.healthy(1).await;

        let root = Root::new();
        root.pods("v1.36.3");
        root.member(&cluster, 0);
        fs::create_dir_all(root.path().join("var/lib")).unwrap();
        let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
        root.put("/etc/kubernetes/admin.conf", &admin);
        let kubelet = plane
            .node_kubeconfig("cp-1", Duration::from_secs(3600))
            .unwrap();
        root.put(
            "/etc/kubernetes/kubelet.conf",
            &fs::read_to_string(kubelet).unwrap(),
        );
        let before = files(root.path());

        let (found, code) = survey(root.path(), &["--target-version", "v1.36.3"]);
        let seen = &found["survey"];
        assert_eq!(seen["node"], "cp-1", "{found:#}");
        assert_eq!(seen["owner"], "kubeadmControlPlane");
        assert_eq!(seen["versions"]["cluster"], "v1.36.3");
        assert_eq!(seen["versions"]["manifests"]["kube-scheduler"], "v1.36.3");
        assert_eq!(seen["versions"]["etcd"], "3.6.6-0");
        assert_eq!(seen["members"][0]["name"], "cp-1");
        assert_eq!(seen["room"][0]["use"], "both");
        assert_eq!(seen["unseen"].as_array().unwrap().len(), 1, "{found:#}");
        assert_eq!((codes(&found), code), (vec!["SingleMember"], Some(4)));

        mirror(&client, "kube-apiserver", "cp-2", "v1.35.4").await;
        mirror(&client, "kube-scheduler", "cp-2", "v1.36.3").await;
        hold(&client, "cp-2/7").await;
        let (found, code) = survey(root.path(), &["--target-version", "v1.37.1"]);
        let expected = [
            "ControlPlaneBusy",
            "ManagedElsewhere",
            "MembersDiffer",
            "SingleMember",
        ];
        assert_eq!(
            (codes(&found), code),
            (expected.to_vec(), Some(3)),
            "{found:#}"
        );
        assert_eq!(found["survey"]["lock"]["holder"], "cp-2/7");

        let output = program(root.path(), &["survey"]);
        let text = shown(&output);
        for line in [
            "members       1 of 1 healthy; this is the only one",
            "lock          held by cp-2/7",
        ] {
            assert!(text.contains(line), "{text}");
        }
        assert_eq!(files(root.path()), before, "nothing was written");
        for secret in secrets(&root) {
            assert!(!text.contains(&secret) && !format!("{found}").contains(&secret));
        }

        plane.stop_api_server();
        let (found, code) = survey(root.path(), &[]);
        assert_eq!(
            (codes(&found), code),
            (vec!["ApiAway", "SingleMember"], Some(3)),
            "{found:#}"
        );
    });
}

/// The middle line of each key and certificate that the node has.
fn secrets(root: &Root) -> Vec<String> {
    let all = files(root.path());
    let texts = all
        .values()
        .map(|(bytes, _)| String::from_utf8_lossy(bytes).into_owned());
    let long = |text: String| {
        let lines = text.lines().map(str::trim).filter(|line| line.len() > 60);
        lines.map(|line| line[..60].to_owned()).collect::<Vec<_>>()
    };
    let found: Vec<String> = texts.flat_map(long).collect();
    assert!(found.len() > 3);
    found
}

#[test]
fn a_node_without_a_control_plane_is_told_so() {
    let root = Root::new();
    root.put("/etc/kubernetes/kubelet.conf", "");
    // Somebody has copied it here.
    root.put("/etc/kubernetes/admin.conf", "");
    let output = program(root.path(), &["survey"]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        said.starts_with("careen-control: this node runs no control plane"),
        "{said}"
    );
    assert_eq!(program(root.path(), &["surrey"]).status.code(), Some(2));
    let bad = program(root.path(), &["survey", "--target-version", "1.36"]);
    assert_eq!(bad.status.code(), Some(2));
}

/// The clock of such a node is wrong, or its certificates have ended: etcd takes neither.
#[test]
fn certificates_of_another_time_are_told_apart_and_refused() {
    within(async {
        let cluster = Cluster::start::<1>();
        cluster.healthy(1).await;
        let root = Root::new();
        root.pods("v1.36.3");
        root.member(&cluster, 0);
        for (from, to, said) in [
            (2990, 2999, "is not valid yet"),
            (1990, 1999, "certificates have ended: "),
        ] {
            let pair = cluster.authority.sign_between("client", from, to);
            let client = "/etc/kubernetes/pki/etcd/healthcheck-client";
            root.put(&format!("{client}.crt"), &pair.certificate);
            root.put(&format!("{client}.key"), &pair.key);
            let (found, code) = survey(root.path(), &[]);
            let codes = codes(&found);
            assert!(codes.contains(&"CertificatesExpired"), "{found:#}");
            assert!(codes.contains(&"EtcdUnhealthy"), "{found:#}");
            assert_eq!(code, Some(3));
            let text = found["findings"].to_string();
            assert!(
                text.contains(said) && text.contains("healthcheck-client"),
                "{text}"
            );
        }
    });
}

#[test]
fn a_member_whose_manifest_is_gone_is_not_called_external() {
    let root = Root::new();
    root.pods("v1.36.3");
    root.put("/etc/kubernetes/pki/etcd/server.crt", "");
    let (found, code) = survey(root.path(), &[]);
    assert_eq!(found["survey"]["kind"], "stacked");
    let missing = "etcd.yaml does not exist";
    let all = found["findings"].as_array().unwrap();
    assert!(
        all.iter()
            .any(|one| one["says"].as_str().unwrap().contains(missing)),
        "{found:#}"
    );
    assert_eq!(code, Some(3));
}

#[test]
fn a_node_whose_files_are_gone_is_surveyed_as_far_as_it_goes() {
    let root = Root::new();
    root.pods("v1.36.3");
    root.put("/etc/kubernetes/manifests/etcd.yaml", "");
    root.put(
        "/etc/kubernetes/manifests/kube-scheduler.yaml",
        "spec: {secret",
    );
    root.put("/etc/kubernetes/admin.conf", "users: [secret");
    let output = program(root.path(), &["survey"]);
    assert_eq!(output.status.code(), Some(3));
    let shown = shown(&output);
    let words: Vec<_> = shown.split_whitespace().collect();
    let text = words.join(" ");
    for word in [
        "NoAdminCredential",
        "etcd.yaml: it is empty",
        "kube-scheduler.yaml: it is not a pod",
    ] {
        assert!(text.contains(word), "{word}: {text}");
    }
    assert!(!text.contains("secret"), "{text}");
}

//! Manifests against what a real kubeadm renders from a real kubeadm-config.
#![allow(clippy::unwrap_used)]

mod rig;

use std::fs;
use std::path::Path;
use std::process::Command;

use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{Api, Patch, PatchParams, PostParams};
use rig::{Root, within};
use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;

const MANIFESTS: &str = "/etc/kubernetes/manifests";
const PATCH: &str = "/etc/kubernetes/patches/kube-scheduler+merge.yaml";

/// Writes the manifests as `kubeadm init` does, with these proxies in its environment.
fn init(root: &Root, cluster: &str) {
    let work = tempfile::tempdir().unwrap();
    let config = work.path().join("init.yaml");
    let init = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\nlocalAPIEndpoint: {advertiseAddress: 10.0.2.15, bindPort: 6443}\nnodeRegistration: {name: cp-1}\ntimeouts: {controlPlaneComponentHealthCheck: 15m}\n";
    fs::write(&config, format!("{init}---\n{cluster}\n")).unwrap();
    let into = root.folder().path(MANIFESTS);
    fs::create_dir_all(&into).unwrap();
    for phase in [["control-plane", "all"], ["etcd", "local"]] {
        let mut kubeadm = Command::new(root.folder().path("/usr/bin/kubeadm"));
        kubeadm
            .args(["init", "phase"])
            .args(phase)
            .args(["--dry-run", "--config"])
            .arg(&config);
        kubeadm
            .env("KUBEADM_INIT_DRYRUN_DIR", &into)
            .env("HTTPS_PROXY", "http://proxy:3128");
        assert!(kubeadm.output().unwrap().status.success());
    }
}

fn survey(root: &Path, image: &str) -> Value {
    survey_with(root, image, &[])
}

fn survey_with(root: &Path, image: &str, more: &[&str]) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-control"));
    command
        .arg("--root")
        .arg(root)
        .args(["survey", "--json", "--target-version", image])
        .args(more);
    command.env("NO_PROXY", "example.org");
    serde_json::from_slice(&command.output().unwrap().stdout).unwrap()
}

fn replace(root: &Root, name: &str, from: &str, to: &str) {
    let path = root.folder().path(MANIFESTS).join(name);
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.contains(from), "{from}");
    fs::write(path, text.replace(from, to)).unwrap();
}

/// A control-plane node with the cluster's kubeadm, and kubeadm's configuration.
async fn node(plane: &ControlPlane) -> (Root, Api<ConfigMap>, String) {
    let client = plane.client().await.unwrap();
    let node: Node = serde_json::from_value(json!({ "metadata": { "name": "cp-1" } })).unwrap();
    Api::all(client.clone())
        .create(&PostParams::default(), &node)
        .await
        .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "kube-system");
    let map = maps.get("kubeadm-config").await.unwrap();
    let cluster = map.data.unwrap()["ClusterConfiguration"].clone();

    let root = Root::new();
    fs::create_dir_all(root.path().join("usr/bin")).unwrap();
    fs::copy(
        plane.program("kubeadm"),
        root.path().join("usr/bin/kubeadm"),
    )
    .unwrap();
    let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
    root.put("/etc/kubernetes/admin.conf", &admin);
    let kubelet = plane
        .node_kubeconfig("cp-1", std::time::Duration::from_secs(3600))
        .unwrap();
    root.put(
        "/etc/kubernetes/kubelet.conf",
        &fs::read_to_string(kubelet).unwrap(),
    );
    (root, maps, cluster)
}

/// As Cluster API does it: the arguments change in kubeadm-config, and the version stays.
async fn changed_arguments_are_written_again(root: &Root, maps: &Api<ConfigMap>, cluster: &str) {
    let changed = cluster.replace(
        "apiServer:",
        "apiServer:\n  extraArgs: [{name: profiling, value: 'false'}]",
    );
    assert_ne!(changed, cluster);
    let patch = Patch::Merge(json!({ "data": { "ClusterConfiguration": changed } }));
    maps.patch("kubeadm-config", &PatchParams::default(), &patch)
        .await
        .unwrap();
    let found = survey(root.path(), "v1.36.3");
    assert_eq!(found["survey"]["drift"], json!([]));
    assert_eq!(
        found["survey"]["rewritten"], true,
        "kubeadm upgrade node would write it"
    );
}

#[test]
fn drift_is_what_kubeadm_would_not_write_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let plane = ControlPlane::start(&folder.path().join("cluster"))
            .await
            .unwrap();
        let (root, maps, cluster) = node(&plane).await;
        init(&root, &cluster);

        let found = survey(root.path(), "v1.36.3");
        assert_eq!(found["survey"]["drift"], json!([]), "{found:#}");
        assert_eq!(found["survey"]["rewritten"], Value::Null, "{found:#}");
        let own = &found["survey"]["versions"];
        assert_eq!(
            own["etcd"], own["etcdWanted"],
            "the same version has the same etcd"
        );

        knows_the_images_of_another_kubeadm(&root);
        patches_are_no_drift(&root);

        let flag = "    - --allow-privileged=true\n";
        let more = format!("{flag}    - --encryption-provider-config=/etc/secret\n");
        replace(&root, "kube-apiserver.yaml", flag, &more);
        replace(
            &root,
            "etcd.yaml",
            "--snapshot-count=10000",
            "--snapshot-count=5000",
        );
        let found = survey(root.path(), "v1.36.3");
        let drift = json!([
            { "component": "etcd", "setting": "--snapshot-count", "changed": true },
            { "component": "kube-apiserver", "setting": "--encryption-provider-config" },
        ]);
        assert_eq!(found["survey"]["drift"], drift, "{found:#}");
        assert!(
            !found.to_string().contains("/etc/secret"),
            "a value may be a secret"
        );

        replace(&root, "kube-apiserver.yaml", &more, flag);
        replace(
            &root,
            "etcd.yaml",
            "--snapshot-count=5000",
            "--snapshot-count=10000",
        );
        changed_arguments_are_written_again(&root, &maps, &cluster).await;

        replace(&root, "kube-scheduler.yaml", "v1.36.3", "v1.35.4");
        let found = survey(root.path(), "v1.36.3");
        assert_eq!(found["survey"]["drift"], Value::Null);
        let why = found["survey"]["unseen"].to_string();
        assert!(why.contains("nothing was compared"), "{why}");
        another_kubeadm_finds_what_is_by_hand(&root, flag, &more);
    });
}

/// The pods and kubeadm have different versions, and the image has its own kubeadm.
fn another_kubeadm_finds_what_is_by_hand(root: &Root, flag: &str, more: &str) {
    let kubeadm = root.path().join("usr/bin/kubeadm");
    let asked = ["--kubeadm", kubeadm.to_str().unwrap()];
    let found = survey_with(root.path(), "v1.36.3", &asked);
    assert_eq!(found["survey"]["drift"], json!([]), "{found:#}");
    replace(root, "kube-apiserver.yaml", flag, more);
    let found = survey_with(root.path(), "v1.36.3", &asked);
    let drift = json!([
        { "component": "kube-apiserver", "setting": "--encryption-provider-config" },
    ]);
    assert_eq!(found["survey"]["drift"], drift, "{found:#}");
    assert!(
        found["findings"].to_string().contains("ManifestDrift"),
        "{found:#}"
    );
}

/// Without a container runtime the survey says so, and knows the new etcd all the same.
fn knows_the_images_of_another_kubeadm(root: &Root) {
    let kubeadm = root.path().join("usr/bin/kubeadm");
    let kubeadm = kubeadm.to_str().unwrap();
    let asked = [
        "--kubeadm",
        kubeadm,
        "--runtime-socket",
        "/nowhere/cri.sock",
    ];
    let found = survey_with(root.path(), "v1.36.3", &asked);
    let own = &found["survey"]["versions"];
    assert_eq!(own["etcd"], own["etcdWanted"], "{found:#}");
    assert_eq!(found["survey"]["missingImages"], Value::Null);
    let unseen = found["survey"]["unseen"].to_string();
    assert!(unseen.contains("/nowhere/cri.sock"), "{unseen}");
    let found = survey_with(root.path(), "v1.36.4", &asked);
    let unseen = found["survey"]["unseen"].to_string();
    assert!(
        unseen.contains("it is v1.36.3; expected v1.36.4"),
        "{unseen}"
    );
}

/// kubeadm applies the node's patches in an upgrade too.
fn patches_are_no_drift(root: &Root) {
    let labels = "metadata:\n  labels:\n";
    let annotated = "metadata:\n  annotations:\n    example.com/mine: \"yes\"\n  labels:\n";
    replace(root, "kube-scheduler.yaml", labels, annotated);
    let found = survey(root.path(), "v1.36.3");
    assert_ne!(found["survey"]["drift"], json!([]), "{found:#}");
    let patch = "metadata:\n  annotations:\n    example.com/mine: \"yes\"\n";
    root.put(PATCH, patch);
    let found = survey(root.path(), "v1.36.3");
    assert_eq!(found["survey"]["drift"], json!([]), "{found:#}");
    raise_and_survey_have_the_same_patches(root);
    fs::remove_file(root.folder().path(PATCH)).unwrap();
    replace(root, "kube-scheduler.yaml", annotated, labels);
}

/// A policy may name another folder, or none. One that is away is no folder without patches.
fn raise_and_survey_have_the_same_patches(root: &Root) {
    let found = survey_with(root.path(), "v1.36.3", &["--patches", ""]);
    assert_ne!(found["survey"]["drift"], json!([]), "{found:#}");
    let found = survey_with(root.path(), "v1.36.3", &["--patches", "/srv/patches"]);
    assert_eq!(found["survey"]["drift"], Value::Null, "{found:#}");
    let unseen = found["survey"]["unseen"].to_string();
    assert!(unseen.contains("/srv/patches is not a folder"), "{unseen}");
    let patch = fs::read_to_string(root.folder().path(PATCH)).unwrap();
    root.put("/srv/patches/kube-scheduler+merge.yaml", &patch);
    let found = survey_with(root.path(), "v1.36.3", &["--patches", "/srv/patches"]);
    assert_eq!(found["survey"]["drift"], json!([]), "{found:#}");
}

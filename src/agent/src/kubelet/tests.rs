use std::fs;
use std::os::unix::fs::PermissionsExt;

use super::*;

/// The cluster's configuration, as kubeadm v1.36 writes it.
const BASE: &str = "apiVersion: kubelet.config.k8s.io/v1beta1
authentication: {anonymous: {enabled: false}, webhook: {cacheTTL: 0s, enabled: true}}
clusterDNS: [10.96.0.10]
containerRuntimeEndpoint: \"\"
kind: KubeletConfiguration
logging: {flushFrequency: 0, options: {json: {infoBufferSize: \"0\"}}, verbosity: 0}
syncFrequency: 0s
";

/// A node with this text after the cluster's configuration.
fn node(own: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("var/lib/kubelet");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("config.yaml"), format!("{BASE}{own}")).unwrap();
    root
}

/// Adds a patch to the node.
fn patch(root: &tempfile::TempDir, name: &str, text: &str) {
    let folder = root.path().join("etc/kubernetes/patches");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join(name), text).unwrap();
}

fn found(root: &tempfile::TempDir) -> Forecast {
    judge(root.path(), Some(BASE), &Kubeadm::default())
}

/// The code and the sentence of the refusal.
fn refused(root: &tempfile::TempDir) -> (String, String) {
    let reason = found(root).refusal.unwrap();
    (reason.code(), reason.to_string())
}

const OWN: &str = "maxPods: 42\nsystemReserved: {memory: 1Gi}\n";

#[test]
fn settings_that_only_this_node_has_are_refused_by_name() {
    let (code, said) = refused(&node(OWN));
    assert_eq!(code, "KubeletSettings");
    for part in [
        "maxPods is 42 and would be unset",
        "systemReserved.memory is \"1Gi\" and would be unset",
        "/etc/kubernetes/patches/kubeletconfiguration9+merge.json",
        r#"{"maxPods":42,"systemReserved":{"memory":"1Gi"}}"#,
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_setting_that_the_cluster_has_otherwise_is_refused() {
    let root = node("");
    let file = root.path().join("var/lib/kubelet/config.yaml");
    fs::write(file, BASE.replace("10.96.0.10", "169.254.20.10")).unwrap();
    let (_, said) = refused(&root);
    let changed = r#"clusterDNS is ["169.254.20.10"] and would be ["10.96.0.10"]"#;
    assert!(said.contains(changed), "{said}");
}

#[test]
fn nothing_is_said_of_a_node_without_settings_of_its_own() {
    let fields = "runtimeRequestTimeout: 0s\nimageMaximumGCAge: 0s\ncrashLoopBackOff: {}\n";
    for own in ["", fields] {
        assert_eq!(found(&node(own)), Forecast::default(), "{own}");
    }
    let bare = tempfile::tempdir().unwrap();
    assert_eq!(found(&bare), Forecast::default(), "no kubeadm node");
}

#[test]
fn each_kind_of_patch_keeps_the_settings() {
    let json = r#"[{"op": "add", "path": "/maxPods", "value": 42}, {"op": "add", "path": "/systemReserved", "value": {"memory": "1Gi"}}]"#;
    for (name, text) in [
        ("kubeletconfiguration0+merge.yaml", OWN),
        ("kubeletconfiguration.yaml", OWN),
        (
            "kubeletconfiguration+strategic.yaml",
            "maxPods: 42\n---\nsystemReserved: {memory: 1Gi}\n",
        ),
        ("kubeletconfiguration1+json.json", json),
    ] {
        let root = node(OWN);
        patch(&root, name, text);
        assert_eq!(found(&root), Forecast::default(), "{name}");
    }
}

#[test]
fn patches_for_other_targets_and_other_files_keep_nothing() {
    let root = node(OWN);
    for name in ["kube-apiserver.yaml", "kubeletconfiguration.txt", "README"] {
        patch(&root, name, OWN);
    }
    assert_eq!(refused(&root).0, "KubeletSettings");
}

#[test]
fn a_patch_that_changes_a_setting_on_purpose_is_no_loss() {
    let root = node("maxPods: 42\n");
    patch(&root, "kubeletconfiguration+merge.yaml", "maxPods: 60\n");
    assert_eq!(found(&root), Forecast::default());
}

#[test]
fn the_instance_configuration_is_applied_last() {
    let endpoint = "containerRuntimeEndpoint: unix:///run/containerd/containerd.sock\n";
    let root = node("");
    let folder = root.path().join("var/lib/kubelet");
    let own = BASE.replace("containerRuntimeEndpoint: \"\"\n", endpoint);
    fs::write(folder.join("config.yaml"), own).unwrap();
    assert_eq!(refused(&root).0, "KubeletSettings");
    fs::write(folder.join("instance-config.yaml"), endpoint).unwrap();
    assert_eq!(found(&root), Forecast::default());
}

#[test]
fn the_policy_may_drop_the_settings_and_they_are_still_named() {
    let policy = Kubeadm {
        local_settings: LocalSettings::Drop,
        ..Kubeadm::default()
    };
    let found = judge(node(OWN).path(), Some(BASE), &policy);
    assert_eq!((found.lost.len(), found.refusal), (2, None));
}

#[test]
fn patches_that_kubeadm_or_root_would_not_trust_are_refused() {
    let root = node("");
    patch(&root, "kubeletconfiguration+other.yaml", "maxPods: 1\n");
    let (code, said) = refused(&root);
    assert_eq!(code, "BadPatches", "{said}");
    assert!(said.contains("json, merge or strategic"), "{said}");
    let root = node("");
    patch(&root, "kubeletconfiguration+merge.yaml", "maxPods: 1\n");
    let file = root
        .path()
        .join("etc/kubernetes/patches/kubeletconfiguration+merge.yaml");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o666)).unwrap();
    let (code, said) = refused(&root);
    assert_eq!(code, "BadPatches", "{said}");
    assert!(said.contains("chmod go-w"), "{said}");
}

#[test]
fn a_folder_that_the_policy_names_must_exist() {
    let policy = Kubeadm {
        patches: "/etc/site/patches".to_owned(),
        ..Kubeadm::default()
    };
    let reason = judge(node("").path(), Some(BASE), &policy).refusal.unwrap();
    assert!(reason.to_string().contains("is not a folder"), "{reason}");
}

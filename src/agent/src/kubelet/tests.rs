use std::fs;
use std::future::ready;
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

/// The cluster's configuration, changed before any file of these tests was written.
fn base() -> Base {
    Base::Known {
        text: BASE.to_owned(),
        changed: Some(1),
    }
}

/// Without the configuration as a whole.
fn found(root: &tempfile::TempDir) -> Forecast {
    let then = None;
    let all = judge(root.path(), &base(), &Kubeadm::default());
    Forecast { then, ..all }
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
fn what_kubeadm_sets_itself_is_no_setting_of_this_node() {
    let own = "staticPodPath: /etc/kubernetes/manifests\nhealthzPort: 10248\n\
               rotateCertificates: true\ncgroupDriver: systemd\n";
    assert_eq!(found(&node(own)), Forecast::default());
    let resolver = "resolvConf: /run/systemd/resolve/resolv.conf\n";
    for own in [resolver, "clusterDomain: cluster.local\n"] {
        let found = found(&node(own));
        assert_eq!((found.lost.len(), &found.refusal), (0, &None), "{own}");
        assert!(found.unsure[0].contains("unless kubeadm sets it"), "{own}");
    }
    let with_resolved = |own: &str| {
        let root = node(own);
        fs::create_dir_all(root.path().join("run/systemd/resolve")).unwrap();
        fs::write(root.path().join("run/systemd/resolve/resolv.conf"), "").unwrap();
        root
    };
    assert_eq!(found(&with_resolved(resolver)), Forecast::default());
    let silent = found(&with_resolved(""));
    assert_eq!((silent.lost.len(), silent.unsure.len()), (0, 1));
    assert!(silent.unsure[0].contains("is unset and would be \"/run/systemd"));
}

#[test]
fn value_that_kubeadm_would_replace_is_refused() {
    for (own, said) in [
        ("cgroupDriver: cgroupfs\n", "would be \"systemd\""),
        ("rotateCertificates: false\n", "would be true"),
        ("resolvConf: /etc/site.conf\n", "would be unset"),
    ] {
        let (code, text) = refused(&node(own));
        assert_eq!(code, "KubeletSettings", "{own}");
        assert!(text.contains(said), "{text}");
    }
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
    let found = judge(node(OWN).path(), &base(), &policy);
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
    let reason = judge(node("").path(), &base(), &policy).refusal.unwrap();
    assert!(reason.to_string().contains("is not a folder"), "{reason}");
}

/// A node whose configuration is this text alone.
fn node_with(config: &str) -> tempfile::TempDir {
    let root = node("");
    fs::write(root.path().join("var/lib/kubelet/config.yaml"), config).unwrap();
    root
}

#[test]
fn setting_that_this_node_has_removed_or_emptied_is_refused() {
    let dns = "clusterDNS: [10.96.0.10]\n";
    let web = "webhook: {cacheTTL: 0s, enabled: true}";
    for (was, is, told, patch) in [
        (dns, "", "clusterDNS is unset", r#"{"clusterDNS":null}"#),
        (
            dns,
            "clusterDNS: []\n",
            "clusterDNS is unset",
            r#"{"clusterDNS":null}"#,
        ),
        (
            dns,
            "clusterDNS:\n",
            "clusterDNS is unset",
            r#"{"clusterDNS":null}"#,
        ),
        (
            web,
            "webhook: {}",
            "authentication.webhook.enabled is unset and would be true",
            r#"{"authentication":{"webhook":{"enabled":null}}}"#,
        ),
    ] {
        let config = BASE.replace(was, is);
        let (code, said) = refused(&node_with(&config));
        assert_eq!(code, "KubeletSettings");
        assert!(said.contains(told) && said.contains(patch), "{said}");
        let root = node_with(&config);
        super::tests::patch(&root, "kubeletconfiguration9+merge.json", patch);
        assert_eq!(found(&root), Forecast::default(), "the patch keeps it");
    }
}

#[test]
fn setting_that_may_be_new_in_the_cluster_is_only_named() {
    let root = node_with(&BASE.replace("clusterDNS: [10.96.0.10]\n", ""));
    let base = Base::Known {
        text: BASE.to_owned(),
        changed: Some(u64::MAX),
    };
    let found = judge(root.path(), &base, &Kubeadm::default());
    assert_eq!((found.lost.len(), &found.refusal), (0, &None));
    assert!(found.told()[0].contains("clusterDNS is unset"), "{found:?}");
    let own = judge(node(OWN).path(), &base, &Kubeadm::default());
    assert!(own.refusal.is_some(), "its own values are");
}

#[test]
fn configuration_that_the_node_may_not_read_is_refused_or_named() {
    let base = Base::Unknown("forbidden".to_owned());
    let found = judge(node(OWN).path(), &base, &Kubeadm::default());
    let refusal = found.refusal.unwrap();
    assert_eq!(refusal.code(), "KubeletSettings");
    assert!(refusal.to_string().contains("forbidden"), "{refusal}");
    let policy = Kubeadm {
        local_settings: LocalSettings::Drop,
        ..Kubeadm::default()
    };
    let found = judge(node(OWN).path(), &base, &policy);
    assert_eq!(found.told(), ["not known: forbidden"]);
    let bare = tempfile::tempdir().unwrap();
    assert_eq!(judge(bare.path(), &base, &policy), Forecast::default());
}

#[test]
fn kubelet_that_would_not_start_on_this_node_is_refused() {
    let root = node("");
    fs::create_dir_all(root.path().join("sys/fs/cgroup/memory")).unwrap();
    let kubelet: Version = "v1.36.3".parse().unwrap();
    let code = || {
        let all = judge(root.path(), &base(), &Kubeadm::default());
        let all = all.for_kubelet(root.path(), Some(&kubelet));
        all.refusal.map(|reason| reason.code())
    };
    assert_eq!(code().as_deref(), Some("OldCgroups"));
    let patch_of = "kubeletconfiguration+merge.yaml";
    patch(&root, patch_of, "failCgroupV1: false\n");
    assert_eq!(code(), None);
}

#[tokio::test(start_paused = true)]
async fn refusal_of_the_server_is_believed_only_if_it_lasts() {
    let refuses = || Err(ApiError::Refused("403".to_owned()));
    let begun = Instant::now();
    let late = || {
        let early = begun.elapsed() < LIMIT / 2;
        ready(if early { refuses() } else { Ok(Some(base())) })
    };
    assert_eq!(believed(late).await.unwrap(), base());
    for answer in [refuses, || Err(ApiError::Missing), || Ok(None)] {
        let Base::Unknown(why) = believed(|| ready(answer())).await.unwrap() else {
            panic!("it is known");
        };
        let told = why.contains("kube-system/kubelet-config") && why.contains("30 s");
        assert!(told, "{why}");
    }
    let away = || ready(Err(ApiError::Away("no route".to_owned())));
    assert!(believed(away).await.is_err());
}

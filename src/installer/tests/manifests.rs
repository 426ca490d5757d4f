//! The manifests ask for what the program needs and for no more.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use upgrade::names;

fn folder() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&here).join("../../packaging/daemonset")
}

fn objects(manifest: &str) -> Vec<Value> {
    let text = fs::read_to_string(folder().join(manifest)).unwrap();
    serde_saphyr::from_multiple(&text).unwrap()
}

fn daemonset(manifest: &str) -> Value {
    let mut all = objects(manifest).into_iter();
    all.find(|object| object["kind"] == "DaemonSet").unwrap()
}

fn pod(manifest: &str) -> Value {
    daemonset(manifest)["spec"]["template"]["spec"].clone()
}

fn container(manifest: &str) -> Value {
    pod(manifest)["containers"][0].clone()
}

const BOTH: [&str; 2] = ["install.yaml", "uninstall.yaml"];

/// The host's folders in the pod: what is written, and what is read.
fn folders(manifest: &str) -> (Vec<String>, Vec<String>) {
    let container = container(manifest);
    let volumes = pod(manifest)["volumes"].clone();
    let on_the_host: BTreeMap<_, _> = volumes
        .as_array()
        .unwrap()
        .iter()
        .filter_map(|volume| {
            Some((
                volume["name"].as_str()?.to_owned(),
                volume["hostPath"]["path"].as_str()?.to_owned(),
            ))
        })
        .collect();
    let (mut written, mut read) = (Vec::new(), Vec::new());
    for mount in container["volumeMounts"].as_array().unwrap() {
        let Some(path) = on_the_host.get(mount["name"].as_str().unwrap()) else {
            continue;
        };
        assert_eq!(
            mount["mountPath"],
            format!("/host{path}"),
            "where the program looks for it"
        );
        match mount["readOnly"] == true {
            true => read.push(path.clone()),
            false => written.push(path.clone()),
        }
    }
    (written, read)
}

#[test]
fn nothing_is_asked_of_the_cluster() {
    for manifest in BOTH {
        assert_eq!(pod(manifest)["automountServiceAccountToken"], false);
        let kinds: Vec<_> = objects(manifest)
            .iter()
            .map(|object| object["kind"].clone())
            .collect();
        assert_eq!(
            kinds,
            ["Namespace", "DaemonSet"],
            "{manifest}: no role, no account, no service"
        );
    }
}

#[test]
fn pods_have_no_privileges_capabilities_or_host_namespaces() {
    for manifest in BOTH {
        let context = container(manifest)["securityContext"].clone();
        assert_eq!(context["privileged"], false);
        assert_eq!(context["allowPrivilegeEscalation"], false);
        assert_eq!(context["readOnlyRootFilesystem"], true);
        assert_eq!(
            context["capabilities"],
            serde_json::json!({"drop": ["ALL"]})
        );
        assert_eq!(context["seccompProfile"]["type"], "RuntimeDefault");
        for namespace in ["hostPID", "hostNetwork", "hostIPC"] {
            assert_ne!(pod(manifest)[namespace], true, "{namespace}");
        }
    }
}

#[test]
fn only_folders_of_written_host_files_are_mounted_writable() {
    let files = [names::AGENTS_DIR, names::POD_UNITS, names::POD_GENERATOR];
    for manifest in BOTH {
        let (written, _) = folders(manifest);
        for file in files {
            let inside = |folder: &String| Path::new(file).starts_with(folder) && file != folder;
            assert!(written.iter().any(inside), "{manifest}: {file}");
        }
        assert_eq!(written.len(), files.len(), "{manifest}: {written:?}");
    }
}

#[test]
fn what_is_read_is_there() {
    let record = format!("/sysroot/{}", names::STATE_DIR);
    let files = [
        record.as_str(),
        "/run/dbus/system_bus_socket",
        "/var/log/journal",
        "/run/log/journal",
    ];
    for manifest in BOTH {
        let (_, read) = folders(manifest);
        for file in files {
            let inside = |folder: &String| Path::new(file).starts_with(folder);
            assert!(read.iter().any(inside), "{manifest}: {file}");
        }
        assert_eq!(read.len(), files.len(), "{manifest}: {read:?}");
    }
}

#[test]
fn no_folder_is_made_that_means_something_by_being_there() {
    // journald keeps its log on the disk once /var/log/journal exists; an OSTree system has its
    // folder.
    for manifest in BOTH {
        for volume in pod(manifest)["volumes"].as_array().unwrap() {
            let host = &volume["hostPath"];
            let path = host["path"].as_str().unwrap_or_default();
            let ours = [
                "/var/lib/careen",
                "/etc/careen",
                "/etc/systemd/system-generators",
            ];
            if host.is_object() && !ours.contains(&path) {
                assert_eq!(host["type"], "Directory", "{path}");
            }
        }
    }
}

#[test]
fn the_two_differ_in_one_word_and_in_how_many_nodes_at_once() {
    let mut all = BOTH.map(daemonset);
    assert_eq!(
        container("install.yaml")["args"],
        serde_json::json!(["install"])
    );
    assert_eq!(
        container("uninstall.yaml")["args"],
        serde_json::json!(["uninstall"])
    );
    for object in &mut all {
        object["spec"]["template"]["spec"]["containers"][0]["args"] = Value::Null;
        object["spec"]["updateStrategy"] = Value::Null;
    }
    let [install, uninstall] = all;
    assert_eq!(install, uninstall);
}

#[test]
fn a_pod_has_time_to_end_what_it_has_begun() {
    // Waiting for the agent's end takes 75 s at the most.
    assert!(
        pod("install.yaml")["terminationGracePeriodSeconds"]
            .as_u64()
            .unwrap()
            > 75
    );
}

#[test]
fn tolerations_cover_node_conditions_and_no_custom_taints() {
    for manifest in BOTH {
        let tolerations = pod(manifest)["tolerations"].clone();
        let keys: Vec<_> = tolerations
            .as_array()
            .unwrap()
            .iter()
            .map(|one| one["key"].as_str().unwrap().to_owned())
            .collect();
        assert!(keys.contains(&"node.kubernetes.io/unschedulable".to_owned()));
        for key in keys {
            assert!(key.starts_with("node.kubernetes.io/"), "{manifest}: {key}");
        }
    }
}

#[test]
fn a_pod_asks_for_little_and_its_memory_has_an_end() {
    for manifest in BOTH {
        let resources = container(manifest)["resources"].clone();
        for what in [
            &resources["requests"]["cpu"],
            &resources["requests"]["memory"],
            &resources["limits"]["memory"],
        ] {
            assert!(what.is_string(), "{manifest}: {resources}");
        }
        // Throttled, it would tell late what the agent says.
        assert!(resources["limits"]["cpu"].is_null());
        let class = &pod(manifest)["priorityClassName"];
        assert!(
            class.is_null(),
            "a class that not every cluster lets be used"
        );
    }
}

#[test]
fn the_namespace_lets_such_pods_in() {
    for manifest in BOTH {
        let namespace = &objects(manifest)[0];
        assert_eq!(
            namespace["metadata"]["labels"]["pod-security.kubernetes.io/enforce"],
            "privileged"
        );
        assert_eq!(
            namespace["metadata"]["name"],
            daemonset(manifest)["metadata"]["namespace"]
        );
    }
}

#[test]
fn the_chart_is_of_the_version_that_cargo_says() {
    let text = fs::read_to_string(folder().join("chart/Chart.yaml")).unwrap();
    let chart: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(chart["version"], env!("CARGO_PKG_VERSION"));
}

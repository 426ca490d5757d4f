use serde_json::{Value, json};

use super::*;

fn read(pod: Value) -> Option<NodePod> {
    let pod: Pod = serde_json::from_value(pod).unwrap();
    pods(&[pod], "2026-11-28T20:00:00Z".parse().ok()).pop()
}

#[test]
fn start_of_a_pod_counts_from_the_boot_to_ready() {
    let took = |start: &str, ready: &str, status: &str| {
        let condition = json!({ "type": "Ready", "status": status, "lastTransitionTime": ready });
        let status = json!({ "phase": "Running", "startTime": start, "conditions": [condition] });
        let pod = read(owned_by("apps/v1", "DaemonSet", &status)).unwrap();
        pod.ready_seconds
    };
    let (before, after) = ("2026-11-01T00:00:00Z", "2026-11-28T21:00:00Z");
    assert_eq!(took(before, "2026-11-28T20:08:00Z", "True"), Some(480));
    assert_eq!(took(after, "2026-11-28T21:00:30Z", "True"), Some(30));
    assert_eq!(took(before, "2026-11-28T20:08:00Z", "False"), None);
    assert_eq!(took(before, "2026-11-28T23:00:00Z", "True"), None, "later");
    assert_eq!(took(before, before, "True"), None, "not of this boot");
}

#[test]
fn pod_that_was_ready_in_between_did_not_start_for_so_long() {
    let took = |started: &str, ready: &str| {
        let condition = json!({ "type": "Ready", "status": "True", "lastTransitionTime": ready });
        let running = json!({ "running": { "startedAt": started } });
        let status = json!({
            "phase": "Running", "startTime": "2026-11-01T00:00:00Z", "conditions": [condition],
            "containerStatuses": [{ "name": "cni", "ready": true, "state": running }],
        });
        let pod = read(owned_by("apps/v1", "DaemonSet", &status)).unwrap();
        pod.ready_seconds
    };
    let flap = took("2026-11-28T20:01:00Z", "2026-11-28T20:50:00Z");
    assert_eq!(flap, None, "its probe failed once");
    let waited = took("2026-11-28T20:49:00Z", "2026-11-28T20:50:00Z");
    assert_eq!(waited, Some(3000), "its container waited");
    let slow = took("2026-11-28T20:01:00Z", "2026-11-28T20:10:00Z");
    assert_eq!(slow, Some(600), "its program is slow");
}

fn owned_by(api: &str, kind: &str, status: &Value) -> Value {
    json!({
        "metadata": {
            "namespace": "kube-system", "name": "cni-4k2xv", "uid": "p1",
            "labels": { REVISION: "r1" },
            "ownerReferences": [
                { "apiVersion": api, "kind": kind, "name": "cni", "uid": "d1", "controller": true },
            ],
        },
        "status": status,
    })
}

fn ready(status: &str) -> Value {
    json!({
        "phase": "Running",
        "conditions": [{ "type": "Ready", "status": status, "reason": "ContainersNotReady" }],
        "containerStatuses": [
            { "name": "cni", "ready": true, "containerID": "containerd://0123456789abcdef",
              "state": { "running": { "startedAt": "2026-11-28T20:00:00Z" } } },
        ],
    })
}

#[test]
fn ready_daemon_pod_is_known_by_its_controller() {
    let pod = read(owned_by("apps/v1", "DaemonSet", &ready("True"))).unwrap();
    assert_eq!(pod.owner.to_string(), "DaemonSet pod kube-system/cni");
    assert_eq!(
        (pod.revision.as_str(), pod.containers.as_str()),
        ("r1", "0123456789ab")
    );
    assert_eq!(pod.unready, None);
}

#[test]
fn pod_that_another_controller_pins_to_the_node_is_known() {
    let mut pod = owned_by("x.example/v1", "Fleet", &ready("True"));
    assert_eq!(read(pod.clone()), None, "a drain moves it");
    let by_name = json!({ "key": "metadata.name", "operator": "In", "values": ["n"] });
    let required = json!({ "nodeSelectorTerms": [{ "matchFields": [by_name] }] });
    pod["spec"] = json!({
        "nodeName": "n", "tolerations": [{ "operator": "Exists" }],
        "affinity": {
            "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": required },
        },
    });
    let owner = read(pod).unwrap().owner;
    assert_eq!(owner.to_string(), "Fleet pod kube-system/cni");
}

#[test]
fn pods_that_a_drain_moves_do_not_belong_to_the_node() {
    assert_eq!(
        read(owned_by("apps/v1", "ReplicaSet", &ready("True"))),
        None
    );
    let mut ends = owned_by("apps/v1", "DaemonSet", &ready("True"));
    ends["metadata"]["deletionTimestamp"] = json!("2026-11-28T20:00:00Z");
    assert_eq!(read(ends), None, "it is being deleted");
}

#[test]
fn static_pod_is_known_by_its_name() {
    let pod = read(json!({
        "metadata": {
            "namespace": "kube-system", "name": "proxy-n1", "uid": "p2",
            "annotations": { MIRROR: "h", FILE_HASH: "h1" },
        },
        "status": ready("False"),
    }))
    .unwrap();
    assert_eq!(pod.owner.to_string(), "static pod kube-system/proxy-n1");
    assert_eq!(pod.revision, "h1");
    assert!(pod.unready.unwrap().why.contains("ContainersNotReady"));
}

fn waiting(reason: &str, message: &str) -> Unready {
    let status = json!({
        "phase": "Pending",
        "conditions": [{ "type": "Ready", "status": "False" }],
        "containerStatuses": [
            { "name": "cni", "state": { "waiting": { "reason": reason, "message": message } } },
        ],
    });
    let pod = read(owned_by("apps/v1", "DaemonSet", &status)).unwrap();
    pod.unready.unwrap()
}

#[test]
fn unready_pod_says_what_its_container_waits_for() {
    let creating = waiting("ContainerCreating", "");
    assert_eq!(creating.why, "container cni: ContainerCreating");
    assert!(!creating.pulls);
    let pulls = waiting("ImagePullBackOff", "back-off pulling image \"x\"");
    assert!(pulls.pulls, "{pulls:?}");
    assert!(pulls.why.contains("back-off pulling"), "{}", pulls.why);
}

#[test]
fn container_that_the_disk_keeps_from_its_start_is_not_broken() {
    let broken = |message: &str| waiting("CreateContainerError", message).broken;
    assert!(broken("failed to create shim task: exec format error"));
    for message in [
        "failed to mount: No space left on device",
        "failed to reserve container name \"cni_1\": name is reserved",
        "context deadline exceeded",
        "failed to create shim task: read unix @->/run/containerd/s/ab12: i/o timeout: connection timed out",
        "error gathering device information while adding custom device \"/dev/gpu\"",
    ] {
        assert!(!broken(message), "{message}");
    }
}

#[test]
fn layer_that_the_content_store_has_lost_blames_no_image() {
    let broken = |message: &str| waiting("CreateContainerError", message).broken;
    for message in [
        "failed to create containerd container: error unpacking image: failed to extract layer sha256:8032: failed to get reader from content store: content digest sha256:2729: not found",
        "failed to create containerd container: failed to create snapshot: missing parent \"k8s.io/9/sha256:e171\" bucket: not found",
        "failed to prepare extraction snapshot \"extract-1 sha256:fc7d\": parent snapshot sha256:4feb does not exist: not found",
        "failed to prepare extraction snapshot \"extract-8 sha256:c6d5\": failed to stat parent: stat /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/112/fs: no such file or directory",
        "failed to create containerd container: failed to create prepare snapshot dir: failed to create temp dir: stat /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots: no such file or directory",
    ] {
        assert!(!broken(message), "{message}");
    }
}

#[test]
fn leftovers_of_the_runtime_in_the_way_blame_no_image() {
    let broken = |message: &str| waiting("CreateContainerError", message).broken;
    for cause in [
        "failed to rename: rename /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/new-1 /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/112: file exists",
        "failed to rename: rename /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/new-1 /var/lib/containerd/io.containerd.snapshotter.v1.overlayfs/snapshots/112: directory not empty",
        "snapshot \"ab12\": already exists",
    ] {
        let message = format!("failed to create containerd container: {cause}");
        assert!(!broken(&message), "{message}");
    }
    assert!(broken("runc create failed: mkdir /x: file exists"));
}

#[test]
fn container_that_lacks_memory_or_its_profile_is_not_broken() {
    let broken = |message: &str| waiting("RunContainerError", message).broken;
    for message in [
        "failed to create containerd task: failed to create shim task: ttrpc: closed: unknown",
        "runc create failed: unable to start container process: container init was OOM-killed (memory limit too low?)",
        "failed to generate spec: cannot load seccomp profile \"/var/lib/kubelet/seccomp/audit.json\": open /var/lib/kubelet/seccomp/audit.json: no such file or directory",
        "failed to generate spec: decoding seccomp profile failed \"/var/lib/kubelet/seccomp/x.json\": unexpected end of JSON input",
    ] {
        assert!(!broken(message), "{message}");
    }
}

#[test]
fn container_whose_image_or_device_is_at_fault_is_not_broken() {
    let broken = |message: &str| waiting("RunContainerError", message).broken;
    assert!(broken("runc create failed: cannot mount cgroup"));
    for message in [
        "runc create failed: unable to start container process: exec: \"agent\": executable file not found in $PATH",
        "crun: executable file `agent` not found in $PATH: No such file or directory",
        "failed to generate spec: unable to find user web: no matching entries in passwd file",
        "CDI device injection failed: unresolvable CDI devices nvidia.com/gpu=all",
        "unable to apply apparmor profile: apparmor failed to apply profile: write attr/apparmor/exec",
    ] {
        assert!(!broken(message), "{message}");
    }
}

#[test]
fn container_whose_host_path_is_missing_is_not_broken() {
    let broken = |message: &str| waiting("RunContainerError", message).broken;
    for message in [
        "runc create failed: unable to start container process: error during container init: error mounting \"/run/x.sock\" to rootfs at \"/run/x.sock\": mount src=/run/x.sock, dst=/run/x.sock, dstFd=/proc/thread-self/fd/8, flags=MS_BIND|MS_REC: not a directory: Are you trying to mount a directory onto a file (or vice-versa)?",
        "error mounting \"/usr/local/x\" to rootfs at \"/usr/x\": mount src=/usr/local/x: no such file or directory",
        "crun: mount `/run/x.sock` to `run/x.sock`: Not a directory",
        "failed to generate container \"ab12\" spec: failed to generate spec: failed to mkdir \"/srv/x\": mkdir /srv/x: file exists",
        "failed to generate spec: failed to stat \"/srv/x\": stat /srv/x: permission denied",
        "failed to stat \"/mnt/x\": stat /mnt/x: transport endpoint is not connected",
        "error mounting \"/mnt/x\" to rootfs at \"/x\": stale NFS file handle",
        "exec: \"/usr/bin/agent\": stat /usr/bin/agent: no such file or directory: unknown",
    ] {
        assert!(!broken(message), "{message}");
    }
}

#[test]
fn container_whose_path_of_the_image_is_missing_is_broken() {
    let broken = |message: &str| waiting("RunContainerError", message).broken;
    for message in [
        "error mounting \"/usr/lib/x.so\" to rootfs at \"/x.so\": mount src=/usr/lib/x.so: not a directory",
        "failed to generate spec: failed to stat \"/usr/share/x\": stat /usr/share/x: no such file or directory",
        "error mounting \"/run/x\" to rootfs at \"/run/x\": mount src=/run/x: operation not permitted",
        "error mounting \"cgroup\" to rootfs at \"/sys/fs/cgroup\": mount cgroup: no such device",
    ] {
        assert!(broken(message), "{message}");
    }
}

#[test]
fn image_that_a_container_runs_is_noted() {
    let digest = "0123456789ab".repeat(6);
    let image = |id: &str| {
        let mut status = ready("True");
        status["containerStatuses"][0]["imageID"] = json!(id);
        let pod = read(owned_by("apps/v1", "DaemonSet", &status)).unwrap();
        serde_json::to_value(pod.images).unwrap()
    };
    let named = format!("registry.example/cni@sha256:{digest}");
    assert_eq!(image(&named), json!({ "cni": "@0123456789ab" }));
    let bare = format!("sha256:{digest}");
    assert_eq!(image(&bare), json!({ "cni": "0123456789ab" }));
    assert_eq!(image(""), json!({}));
}

#[test]
fn failed_init_container_is_named_and_a_finished_one_is_not() {
    let status = |exit: i32| {
        json!({
            "phase": "Pending",
            "conditions": [{ "type": "Ready", "status": "False", "reason": "ContainersNotReady" }],
            "initContainerStatuses": [
                { "name": "load", "ready": exit == 0,
                  "state": { "terminated": { "reason": "Error", "exitCode": exit } } },
            ],
        })
    };
    let why = |exit| {
        let pod = read(owned_by("apps/v1", "DaemonSet", &status(exit))).unwrap();
        pod.unready.unwrap().why
    };
    assert_eq!(why(3), "container load: Error (exit status 3)");
    assert!(why(0).starts_with("ContainersNotReady"), "{}", why(0));
}

#[test]
fn pod_that_the_kubelet_rejects_says_why() {
    let status = json!({ "phase": "Failed", "reason": "NodeAffinity", "message": "does not fit" });
    let pod = read(owned_by("apps/v1", "DaemonSet", &status)).unwrap();
    assert_eq!(
        pod.unready.unwrap().why,
        "Failed: NodeAffinity does not fit"
    );
}

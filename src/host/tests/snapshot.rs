//! The kubelet's state is saved once and restored completely.

#![allow(clippy::unwrap_used, clippy::panic)]

mod disk;
mod kubelet_state;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use disk::{content, deployment, upgrade_id};
use host::snapshot;
use kubelet_state::{KUBELET, node};

#[test]
fn what_was_changed_comes_back_and_what_is_new_goes() {
    let node = node();
    let before = content(&node.path(KUBELET));
    node.save();
    node.write("var/lib/kubelet/config.yaml", "new config");
    node.write("var/lib/kubelet/memory_manager_state", "new memory");
    node.write("var/lib/kubelet/allocated_pods_state", "new allocations");
    node.write("var/lib/kubelet/actuated_pods_state", "new to the old one");
    node.write("var/lib/kubelet/instance-config.yaml", "new instance");
    fs::remove_file(node.path("var/lib/kubelet/cpu_manager_state")).unwrap();
    assert_eq!(node.restore(), 6);
    assert_eq!(content(&node.path(KUBELET)), before);
    assert_eq!(node.restore(), 0, "a second time there is nothing to do");
}

#[test]
fn keys_and_pods_are_never_touched() {
    let node = node();
    node.write(
        "etc/careen/snapshot.d/all",
        "# everything, says the operator\n/var/lib/kubelet/pki\n",
    );
    node.save();
    node.write("var/lib/kubelet/pki/kubelet-client-current.pem", "new key");
    node.write("var/lib/kubelet/pods/1/etc-hosts", "new pod's");
    node.restore();
    assert_eq!(node.text("pki/kubelet-client-current.pem"), "new key");
    assert_eq!(node.text("pods/1/etc-hosts"), "new pod's");
}

#[test]
fn a_list_that_others_may_write_is_not_gone_by() {
    let node = node();
    let list = "etc/careen/snapshot.d/app";
    node.write(list, "/etc/shadow\n");
    fs::set_permissions(node.path(list), fs::Permissions::from_mode(0o664)).unwrap();
    let error = snapshot::save(&node.places, &upgrade_id("u1")).unwrap_err();
    let why = error.to_string();
    assert!(
        why.contains("snapshot.d/app may be") && why.contains("chmod go-w"),
        "{why}"
    );
}

#[test]
fn line_of_a_list_that_names_nothing_is_an_error() {
    for (line, why) in [
        ("var/lib/app", "begin with /"),
        ("~/app", "begin with /"),
        ("\"/var/lib/app\"", "begin with /"),
        ("/var/lib/*/state", "* before its last part"),
    ] {
        let (node, image) = (node(), node());
        node.write("etc/careen/snapshot.d/app", &format!("# app\n{line}\n"));
        let error = snapshot::rehearse(&node.places).unwrap_err().to_string();
        for word in ["snapshot.d/app", "line 2", why] {
            assert!(error.contains(word), "{word}: {error}");
        }
        image.write("usr/lib/careen/snapshot.d/app", &format!("{line}\n"));
        snapshot::rehearse(&image.places).unwrap();
    }
}

#[test]
fn second_save_with_the_same_id_replaces_the_snapshot() {
    let node = node();
    node.save();
    node.write("var/lib/kubelet/config.yaml", "an operator's config");
    node.save();
    node.write("var/lib/kubelet/config.yaml", "the trial's config");
    node.restore();
    assert_eq!(node.text("config.yaml"), "an operator's config");
}

#[test]
fn snapshot_that_a_power_cut_left_half_done_restarts() {
    let node = node();
    let half = node.path("sysroot/ostree/careen/snapshot-one~new");
    fs::create_dir_all(&half).unwrap();
    fs::write(half.join("0"), "half").unwrap();
    assert!(!snapshot::exists(&node.places, &upgrade_id("one")));
    node.save();
    assert!(snapshot::exists(&node.places, &upgrade_id("one")));
    assert!(!half.exists());
}

#[test]
fn files_and_folders_that_image_and_operator_name_are_saved_too() {
    let node = node();
    node.write("usr/lib/careen/snapshot.d/app", "/var/lib/app\n");
    node.write(
        "etc/careen/snapshot.d/mine",
        "/var/lib/mine/*.db\n\n# a note\n/var/lib/nowhere\n",
    );
    node.write("var/lib/app/deep/state", "old");
    node.write("var/lib/mine/a.db", "old");
    node.write("var/lib/mine/a.txt", "old");
    node.save();
    for path in [
        "var/lib/app/deep/state",
        "var/lib/mine/a.db",
        "var/lib/mine/a.txt",
        "var/lib/mine/b.db",
    ] {
        node.write(path, "new");
    }
    node.restore();
    let text = |path: &str| fs::read_to_string(node.path(path)).unwrap();
    assert_eq!(
        (text("var/lib/app/deep/state"), text("var/lib/mine/a.db")),
        ("old".into(), "old".into())
    );
    assert_eq!(text("var/lib/mine/a.txt"), "new");
    assert!(!node.path("var/lib/mine/b.db").exists());
}

#[test]
fn links_of_the_system_itself_lead_where_they_always_did() {
    let node = node();
    fs::rename(node.path(KUBELET), node.path("disk")).unwrap();
    symlink("/disk", node.path(KUBELET)).unwrap();
    fs::create_dir_all(node.path("var/opt")).unwrap();
    symlink("var/opt", node.path("opt")).unwrap();
    node.write("var/opt/app/state", "old");
    node.write("etc/careen/snapshot.d/app", "/opt/app\n");
    node.save();
    node.write("disk/config.yaml", "new config");
    node.write("var/opt/app/state", "new");
    node.write("var/opt/app/late", "new");
    assert_eq!(node.restore(), 3);
    let text = |path: &str| fs::read_to_string(node.path(path)).unwrap();
    assert_eq!(text("disk/config.yaml"), "old config");
    assert_eq!(text("var/opt/app/state"), "old");
    assert!(!node.path("var/opt/app/late").exists());
}

#[test]
fn snapshots_that_no_record_tells_of_go_and_its_own_stays() {
    let node = node();
    for id in ["one", "two", "v1.35"] {
        snapshot::save(&node.places, &upgrade_id(id)).unwrap();
    }
    fs::create_dir(node.path("sysroot/ostree/careen/snapshot-four~new")).unwrap();
    fs::write(node.path("sysroot/ostree/careen/record.a"), "").unwrap();
    let left = || {
        let entries = fs::read_dir(node.places.state()).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    };
    snapshot::keep_only(&node.places, Some(&upgrade_id("two"))).unwrap();
    assert_eq!(left(), ["record.a", "snapshot-two"]);
    snapshot::keep_only(&node.places, None).unwrap();
    assert_eq!(left(), ["record.a"]);
}

/// What could not be restored of upgrade `one`.
fn owed() -> snapshot::Owed {
    snapshot::Owed {
        why: "the disk was full".to_owned(),
        to: Some(deployment('a', 0)),
    }
}

#[test]
fn owed_snapshot_survives_cleanup_and_is_found_without_a_record() {
    let node = node();
    node.save();
    snapshot::owe(&node.places, &upgrade_id("one"), &owed()).unwrap();
    snapshot::keep_only(&node.places, Some(&upgrade_id("two"))).unwrap();
    snapshot::keep_only(&node.places, None).unwrap();
    let all = snapshot::all_owed(&node.places).unwrap();
    assert_eq!(all, [(upgrade_id("one"), owed())]);
    snapshot::forget(&node.places, &upgrade_id("one")).unwrap();
    assert_eq!(snapshot::all_owed(&node.places).unwrap(), []);
}

#[test]
fn save_is_refused_while_an_earlier_snapshot_is_owed() {
    let node = node();
    node.save();
    snapshot::owe(&node.places, &upgrade_id("one"), &owed()).unwrap();
    node.write("var/lib/kubelet/config.yaml", "of the trial");
    for id in ["one", "two"] {
        let error = snapshot::save(&node.places, &upgrade_id(id)).unwrap_err();
        assert!(error.to_string().contains("the disk was full"), "{error}");
    }
    assert!(!snapshot::exists(&node.places, &upgrade_id("two")));
    node.restore();
    assert_eq!(node.text("config.yaml"), "old config");
}

#[test]
fn modes_come_back() {
    let node = node();
    let config = node.path("var/lib/kubelet/config.yaml");
    fs::set_permissions(&config, fs::Permissions::from_mode(0o640)).unwrap();
    node.save();
    fs::remove_file(&config).unwrap();
    node.restore();
    assert_eq!(
        fs::metadata(&config).unwrap().permissions().mode() & 0o777,
        0o640
    );
}

#[test]
fn ids_with_dots_keep_apart() {
    let node = node();
    for id in ["v1.35", "v1.36"] {
        snapshot::save(&node.places, &upgrade_id(id)).unwrap();
    }
    snapshot::forget(&node.places, &upgrade_id("v1.35")).unwrap();
    assert!(snapshot::exists(&node.places, &upgrade_id("v1.36")));
    assert!(!Path::new(&node.places.snapshot(&upgrade_id("v1.35"))).exists());
}

#[test]
fn cancelled_save_leaves_no_partial_and_keeps_the_old_snapshot() {
    let node = node();
    node.save();
    node.write(&format!("{KUBELET}/config.yaml"), "new config");
    for files in 0..3_u32 {
        let left = std::cell::Cell::new(files);
        let goes_on = || left.replace(left.get().saturating_sub(1)) > 0;
        let id = upgrade_id("one");
        let before = snapshot::Before { id: &id, trials: 0 };
        assert!(!snapshot::save_while(&node.places, &before, &goes_on).unwrap());
        let snapshots = node.places.snapshot(&id);
        let others = fs::read_dir(snapshots.parent().unwrap()).unwrap();
        let begun = others.filter(|entry| {
            let name = entry.as_ref().unwrap().file_name();
            name.to_string_lossy().ends_with("~new")
        });
        assert_eq!(begun.count(), 0, "stopped after {files} files");
    }
    node.restore();
    assert_eq!(node.text("config.yaml"), "old config");
}

/// kubeadm writes these files in place, late in the trial of a control plane. A power cut leaves
/// them empty or torn.
#[test]
fn kubelet_config_that_a_cut_took_late_in_the_trial_comes_back() {
    let node = node();
    node.write("etc/kubernetes/manifests/etcd.yaml", "etcd");
    let before = content(&node.path(KUBELET));
    node.save();
    for cut in ["", "kind: Kubelet"] {
        for name in ["config.yaml", "kubeadm-flags.env", "instance-config.yaml"] {
            node.write(&format!("{KUBELET}/{name}"), cut);
        }
        assert!(node.restore() > 0);
        assert_eq!(content(&node.path(KUBELET)), before, "{cut:?}");
    }
    let etcd = fs::read_to_string(node.path("etc/kubernetes/manifests/etcd.yaml"));
    assert_eq!(etcd.unwrap(), "etcd", "the static pods stay as they are");
}

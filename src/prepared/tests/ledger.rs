//! What the bootstrap data write, and what is there after the way back.
#![allow(clippy::unwrap_used)]

mod rig;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use cloud_config::File;
use prepared::ledger::Ledger;
use prepared::{Disk, apply};
use rig::{Rig, id, put};

fn file(path: &str, text: &str) -> File {
    File {
        path: path.to_owned(),
        content: text.into(),
        user: None,
        group: None,
        mode: 0o640,
        append: false,
    }
}

fn write(rig: &Rig, files: Vec<File>) {
    let disk: &dyn Disk = rig.disk.as_ref();
    let ready = apply::prepare(&rig.paths, files).unwrap();
    let ledger = Ledger::of(&rig.paths, disk, &id('a'));
    ledger.begin().unwrap();
    apply::write(&rig.paths, disk, &ledger, &ready).unwrap();
}

fn restore(rig: &Rig) {
    let disk: &dyn Disk = rig.disk.as_ref();
    Ledger::of(&rig.paths, disk, &id('a')).restore().unwrap();
    assert_eq!(Ledger::all(&rig.paths).unwrap().len(), 0);
}

#[test]
fn an_operators_file_comes_back() {
    let rig = Rig::new();
    rig.put("/etc/north/own.conf", "operator");
    let own = rig.paths.below("/etc/north/own.conf");
    fs::set_permissions(&own, fs::Permissions::from_mode(0o600)).unwrap();
    symlink("own.conf", rig.paths.below("/etc/north/link.conf")).unwrap();
    let before = rig.tree();
    write(
        &rig,
        vec![
            file("/etc/north/own.conf", "cluster"),
            file("/etc/north/own.conf", "cluster, again"),
            file("/etc/north/link.conf", "cluster"),
            file("/var/lib/new/deep/file", "cluster"),
        ],
    );
    assert_eq!(rig.read("/etc/north/own.conf"), "cluster, again");
    assert_eq!(rig.read("/etc/north/link.conf"), "cluster");
    assert_ne!(rig.tree(), before);
    fs::write(&own, "changed by the node").unwrap();
    restore(&rig);
    assert_eq!(rig.tree(), before);
    assert!(
        !rig.has("/var/lib/new"),
        "a folder that was made is removed"
    );
}

#[test]
fn a_folder_that_others_use_stays() {
    let rig = Rig::new();
    write(&rig, vec![file("/var/lib/new/file", "cluster")]);
    rig.put("/var/lib/new/operators", "operator");
    restore(&rig);
    assert_eq!(rig.read("/var/lib/new/operators"), "operator");
}

#[test]
fn a_file_is_written_as_the_data_say() {
    let rig = Rig::new();
    let more = File {
        append: true,
        ..file("/etc/hosts", "10.0.0.10 api\n")
    };
    let owned = File {
        user: Some("65534".into()),
        group: Some("65534".into()),
        ..file("/opt/x", "x")
    };
    let shorter = file("/etc/machine-id", "");
    write(&rig, vec![more, owned, shorter]);
    assert_eq!(
        rig.read("/etc/hosts"),
        "127.0.0.1 localhost\n10.0.0.10 api\n"
    );
    assert_eq!(
        rig.read("/etc/machine-id"),
        "",
        "nothing of the old content is left"
    );
    let facts = fs::metadata(rig.paths.below("/opt/x")).unwrap();
    assert_eq!(facts.permissions().mode() & 0o7777, 0o640);
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&facts), 65534);
}

#[test]
fn an_upgraded_host_is_restored_in_each_deployment() {
    let rig = Rig::new();
    let copied = rig.other.join("etc/north/registry.conf");
    let own = rig.other.join("etc/north/own.conf");
    put(&own, "of this deployment");
    let before = rig.tree();
    write(
        &rig,
        vec![
            file("/etc/north/registry.conf", "cluster"),
            file("/etc/north/own.conf", "cluster"),
        ],
    );
    put(&copied, "cluster");
    restore(&rig);
    assert_eq!(rig.tree(), before);
    assert_eq!(fs::read_to_string(own).unwrap(), "of this deployment");
}

#[test]
fn nothing_is_written_if_one_file_cannot_be() {
    let rig = Rig::new();
    fs::create_dir_all(rig.paths.below("/opt")).unwrap();
    symlink("../usr/bin", rig.paths.below("/opt/bin")).unwrap();
    for bad in [
        file("/opt/bin/kubelet", "x"),
        file("/etc/kubernetes", "x"),
        File {
            user: Some("nobody-knows".into()),
            ..file("/etc/x", "x")
        },
        File {
            group: Some("nobody-knows".into()),
            ..file("/etc/x", "x")
        },
    ] {
        let name = format!("{bad:?}");
        assert!(
            apply::prepare(&rig.paths, vec![file("/etc/first", "x"), bad]).is_err(),
            "{name}"
        );
        assert!(!rig.has("/etc/first"), "{name}");
    }
}

#[test]
fn volatile_files_need_no_ledger() {
    let rig = Rig::new();
    write(&rig, vec![file("/run/kubeadm/kubeadm.yaml", "x")]);
    assert_eq!(rig.read("/run/kubeadm/kubeadm.yaml"), "x");
    let folder = &Ledger::all(&rig.paths).unwrap()[0];
    assert_eq!(fs::read_dir(folder).unwrap().count(), 0);
}

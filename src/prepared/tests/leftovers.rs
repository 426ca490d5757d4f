//! The lists of clean.d, and the check list that reads them.
#![allow(clippy::unwrap_used)]

mod rig;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use life::Checks;
use prepared::Disk;
use prepared::check::check;
use prepared::clean::clean;
use prepared::leftovers::{Leftover, all, parse};
use rig::{Rig, id, put};

fn found(rig: &Rig) -> Vec<String> {
    match check(&rig.paths, &rig.machine) {
        Checks::Red(found) => found,
        Checks::Green | Checks::NotRun => Vec::new(),
    }
}

#[test]
fn a_prepared_host_is_clean() {
    assert_eq!(check(&Rig::new().paths, &Rig::new().machine), Checks::Green);
}

#[test]
fn each_line_of_the_built_in_list_is_looked_for() {
    let rig = Rig::new();
    let lines = all(&rig.paths).unwrap();
    assert!(lines.len() > 15, "{lines:?}");
    for line in lines {
        let mut rig = Rig::new();
        let name = match line {
            Leftover::Remove(path) | Leftover::Empty(path) => {
                rig.put(&format!("{path}/x"), "x");
                path
            }
            Leftover::Link(name) => {
                rig.machine.links = vec![name.replace('*', "0")];
                "network link".to_owned()
            }
        };
        let found = found(&rig);
        assert!(
            found.len() == 1 && found[0].contains(&name),
            "{name}: {found:?}"
        );
    }
}

#[test]
fn an_operators_list_counts_too() {
    let rig = Rig::new();
    rig.put(
        "/etc/careen/clean.d/10-own.list",
        "# ours\nremove /opt/north\n\nlink north0\n",
    );
    rig.put("/etc/careen/clean.d/notes.txt", "not a list");
    rig.put("/opt/north/x", "x");
    assert_eq!(found(&rig).len(), 1);
}

#[test]
fn a_list_that_others_may_write_is_refused() {
    for open in [
        "/etc/careen/clean.d/10-own.list",
        "/etc/careen/clean.d",
        "/usr/lib/careen/clean.d",
    ] {
        let rig = Rig::new();
        for folder in ["etc", "usr/lib"] {
            let list = format!("/{folder}/careen/clean.d/10-own.list");
            rig.put(&list, "remove /opt/north\n");
        }
        assert!(all(&rig.paths).is_ok());
        let place = rig.paths.below(open);
        let mode = fs::metadata(&place).unwrap().permissions().mode();
        fs::set_permissions(&place, Permissions::from_mode(mode | 0o002)).unwrap();
        let why = all(&rig.paths).unwrap_err().to_string();
        assert!(
            why.contains(open) && why.contains("may be written by everybody"),
            "{why}"
        );
        assert!(why.contains("; run: chmod go-w /"), "{why}");
        assert!(found(&rig)[0].contains("is not usable"), "no host is clean");
    }
}

#[test]
fn a_bad_line_makes_no_host_available() {
    let rig = Rig::new();
    rig.put(
        "/etc/careen/clean.d/10-own.list",
        "remove /opt/north\nremove /\n",
    );
    let found = found(&rig);
    assert!(found[0].contains("line 2 is \"remove /\""), "{found:?}");
}

#[test]
fn lines_that_would_take_a_host_apart_are_refused() {
    for line in [
        "remove /",
        "remove /etc",
        "remove /var",
        "remove /var/lib",
        "remove /usr/bin/kubelet",
        "remove /sysroot/ostree",
        "remove /boot/grub",
        "remove etc/x",
        "remove /etc/../usr",
        "remove /etc//x",
        "remove /var/lib/careen",
        "remove /etc/ssh",
        "remove /etc/ssh/sshd_config",
        "remove /etc/careen/policy.toml",
        "remove /var/lib/careen/host/kubeconfig",
        "empty /run/careen/x",
        "remove /var/lib/containerd",
        "remove",
        "delete /opt/x",
        "/opt/x",
        "link *",
        "link eth0/../x",
        "empty /proc/1",
    ] {
        assert_eq!(
            parse(&format!("# a\n{line}")),
            Err((2, line.to_owned())),
            "{line}"
        );
    }
    assert!(parse("remove /opt/x\nempty /var/lib/x/y\nlink cali*").is_ok());
}

#[test]
fn what_the_image_has_is_no_leftover() {
    let rig = Rig::new();
    assert!(rig.has("/etc/cni/net.d/99-loopback.conf"));
    assert_eq!(found(&rig), Vec::<String>::new());
    rig.put("/etc/cni/net.d/99-loopback.conf", "changed");
    assert_eq!(found(&rig).len(), 1);
}

/// A snapshot contains all Secrets of the cluster. No list leads there.
#[test]
fn snapshot_of_etcd_does_not_outlive_the_release() {
    let mut rig = Rig::new();
    let snapshot = "/var/lib/careen/etcd/r1-0123abcd.db";
    let ledger = rig.paths.places.state().join("control-r1-0123abcd");
    rig.put(snapshot, "secrets");
    rig.put("/var/lib/careen/agents/1/careen-agent", "program");
    put(&ledger.join("etcd/new.yaml"), "manifest");
    let found = found(&rig);
    assert!(found.iter().any(|path| path.ends_with("/careen/etcd")));
    assert!(found.contains(&ledger.display().to_string()), "{found:?}");
    assert_eq!(found.len(), 2, "{found:?}");
    let disk = rig.disk.clone();
    let disk: &dyn Disk = disk.as_ref();
    clean(&rig.paths, disk, &mut rig.machine, &id('a'));
    assert!(!rig.has(snapshot) && !ledger.exists());
    assert!(rig.has("/var/lib/careen/agents/1/careen-agent"));
    assert_eq!(check(&rig.paths, &rig.machine), Checks::Green);
}

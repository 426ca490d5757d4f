//! Whole boots in a folder: what the stage lets through, what it sends back, and what it leaves in the record.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "../../host/tests/disk/mod.rs"]
mod disk;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::process::{Command, Output};

use disk::{Disk, boot_id, content, deployment, link, upgrade_id};
use host::journal::Store;
use host::manifest::{FileDigest, Manifest};
use host::{Places, grubenv, snapshot};
use upgrade::{
    Deployment, Journal, Moment, OneShot, Phase, RawRequest, Reason, Record, SinceBoot, Upgrade,
};

const THIS_BOOT: &str = "11111111-2222-4333-8444-555555555555";
const WOULD_REBOOT: i32 = 3;

/// An old system `a` that has armed a new one `b`.
struct Node {
    disk: Disk,
    old: Deployment,
    new: Deployment,
}

fn armed() -> Node {
    let (old, new) = (deployment('a', 0), deployment('b', 0));
    let disk = Disk::new(&[old.clone(), new.clone()]);
    let node = Node { disk, old, new };
    let kubelet = node.new_root().join("usr/bin/kubelet");
    fs::create_dir_all(kubelet.parent().unwrap()).unwrap();
    fs::write(&kubelet, "kubelet").unwrap();
    let file = FileDigest::of(&node.new_root(), "usr/bin/kubelet", true).unwrap();
    let manifest = Manifest {
        format: 1,
        commit: node.new.digest.clone(),
        bootcsum: node.new.bootcsum.clone(),
        files: vec![file],
    };
    manifest.write(&node.disk.places).unwrap();
    node.store(Phase::Armed { boot: boot_id("0") });
    node
}

impl Node {
    fn new_root(&self) -> PathBuf {
        self.disk.root(&self.new)
    }

    fn upgrade(&self, phase: Phase) -> Upgrade {
        let text = serde_json::json!({
            "id": "one", "request": RawRequest { request: "Scheduled".into(), ..RawRequest::default() },
            "target": format!("ostree:careen:os@{}", self.new.digest), "phase": phase,
            "from": self.old, "to": self.new, "tries": 1, "deadline_seconds": 600,
        });
        serde_json::from_value(text).unwrap()
    }

    fn store(&self, phase: Phase) {
        self.store_upgrade(self.upgrade(phase));
    }

    fn store_upgrade(&self, upgrade: Upgrade) {
        let mut store = Store::new(&self.disk.places.sysroot);
        let generation = store.read().unwrap().generation + 1;
        store
            .store(&Record {
                generation,
                upgrade: Some(upgrade),
                ..Record::default()
            })
            .unwrap();
    }

    fn phase(&self) -> Phase {
        Store::new(&self.disk.places.sysroot)
            .read()
            .unwrap()
            .upgrade
            .unwrap()
            .phase
    }

    /// Runs a verb in a boot of `deployment`.
    fn run(&self, verb: &str, booted: &Deployment, trial: bool, more: &[&str]) -> Output {
        let folder = self.disk.folder.path();
        let trial = if trial { "careen.trial=1" } else { "quiet" };
        fs::write(
            folder.join("cmdline"),
            format!("root=UUID=1 ostree={} {trial}\n", link(booted)),
        )
        .unwrap();
        fs::write(folder.join("boot-id"), format!("{THIS_BOOT}\n")).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
        command.arg(verb).arg("--dry-run");
        for (flag, path) in [
            ("--sysroot", self.disk.places.sysroot.clone()),
            ("--boot", self.disk.places.boot.clone()),
            ("--root", self.disk.root(booted)),
            ("--run", folder.join("run")),
            ("--cmdline", folder.join("cmdline")),
            ("--boot-id", folder.join("boot-id")),
        ] {
            command.arg(flag).arg(path);
        }
        command.args(more).output().unwrap()
    }

    fn guard(&self) -> Option<i32> {
        self.run("guard", &self.new, true, &[]).status.code()
    }
}

fn refused(phase: &Phase) -> &str {
    match phase {
        Phase::Reverting {
            reason: Reason::StageRefused { detail },
        } => detail,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_armed_trial_is_let_through_and_the_record_says_so() {
    let node = armed();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(
        node.phase(),
        Phase::Trial {
            boot: boot_id(THIS_BOOT)
        }
    );
}

#[test]
fn a_boot_that_is_no_trial_is_not_even_looked_at() {
    let node = armed();
    fs::remove_dir_all(node.disk.root(&node.old)).unwrap();
    let before = content(&node.disk.places.state());
    for verb in ["guard", "verify", "check", "deadman", "fallback", "gate"] {
        assert_eq!(
            node.run(verb, &node.old, false, &[]).status.code(),
            Some(0),
            "{verb}"
        );
    }
    assert_eq!(content(&node.disk.places.state()), before);
}

#[test]
fn a_tampered_critical_file_is_refused_by_name() {
    let node = armed();
    fs::write(node.new_root().join("usr/bin/kubelet"), "kubelot").unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("usr/bin/kubelet"));
}

#[test]
fn a_torn_kernel_is_refused() {
    let node = armed();
    let kernel = node
        .disk
        .places
        .boot
        .join(format!("ostree/debian-{}/vmlinuz", node.new.bootcsum));
    fs::write(kernel, "ker").unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("checksum"));
}

#[test]
fn with_boot_out_of_sight_the_kernel_in_the_tree_is_checked() {
    let node = armed();
    fs::remove_dir_all(&node.disk.places.boot).unwrap();
    assert_eq!(node.guard(), Some(0));
}

#[test]
fn without_a_manifest_nothing_is_known_and_nothing_passes() {
    let node = armed();
    fs::remove_file(node.disk.places.manifest(&node.new.digest)).unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn a_manifest_cannot_lead_out_of_the_deployment() {
    let node = armed();
    let mut manifest = Manifest::read(&node.disk.places, &node.new.digest).unwrap();
    manifest.files[0].path = "../../../../../grub/grubenv".to_owned();
    manifest.write(&node.disk.places).unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn a_one_shot_that_the_loader_left_is_cleared_first() {
    let node = armed();
    grubenv::write_next_entry(&node.disk.places.grubenv(), Some(1)).unwrap();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(
        grubenv::one_shot(&node.disk.places.grubenv()),
        OneShot::Clear
    );
}

#[test]
fn a_second_boot_of_one_arming_goes_back() {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id("a0"),
    });
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn a_trial_of_a_system_that_nobody_armed_goes_back() {
    let node = armed();
    assert_eq!(
        node.run("guard", &node.old, true, &[]).status.code(),
        Some(WOULD_REBOOT)
    );
    fs::remove_dir_all(node.disk.places.state()).unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn with_a_damaged_record_a_trial_goes_back_and_the_record_stays_as_it_is() {
    let node = armed();
    for name in ["record.a", "record.b"] {
        fs::write(node.disk.places.state().join(name), "x").unwrap();
    }
    let before = content(&node.disk.places.state());
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
    assert_eq!(content(&node.disk.places.state()), before);
}

#[test]
fn a_broken_boot_link_goes_back() {
    let node = armed();
    fs::remove_file(
        node.disk
            .places
            .sysroot
            .join(link(&node.new).trim_start_matches('/')),
    )
    .unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn the_prepared_root_is_let_through_when_it_is_the_one_that_was_meant() {
    let node = armed();
    assert_eq!(node.guard(), Some(0));
    fs::create_dir_all(node.disk.folder.path().join("run")).unwrap();
    fs::write(node.disk.folder.path().join("run/ostree-booted"), "").unwrap();
    assert_eq!(
        node.run("verify", &node.new, true, &[]).status.code(),
        Some(0)
    );
    assert_eq!(
        node.phase(),
        Phase::Trial {
            boot: boot_id(THIS_BOOT)
        }
    );
}

#[test]
fn another_root_than_was_meant_goes_back() {
    let node = armed();
    assert_eq!(node.guard(), Some(0));
    fs::create_dir_all(node.disk.folder.path().join("run")).unwrap();
    fs::write(node.disk.folder.path().join("run/ostree-booted"), "").unwrap();
    let other = node.disk.root(&node.old);
    let output = node.run(
        "verify",
        &node.new,
        true,
        &["--root", other.to_str().unwrap()],
    );
    assert_eq!(output.status.code(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("meant was"));
}

#[test]
fn where_prepare_root_was_dropped_the_boot_goes_back() {
    let node = armed();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(
        node.run("verify", &node.new, true, &[]).status.code(),
        Some(WOULD_REBOOT)
    );
    assert!(refused(&node.phase()).contains("ostree-prepare-root"));
    // As it is then: the physical root where the new one should be.
    let node = armed();
    assert_eq!(node.guard(), Some(0));
    let physical = node.disk.places.sysroot.to_str().unwrap().to_owned();
    let missing = format!("{physical}/sysroot");
    let output = node.run(
        "verify",
        &node.new,
        true,
        &["--root", &physical, "--sysroot", &missing],
    );
    assert_eq!(output.status.code(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("ostree-prepare-root"));
}

#[test]
fn what_the_initramfs_left_is_checked_before_the_kubelet() {
    let node = armed();
    let runtime = node.new_root().join("usr/bin/containerd");
    fs::write(&runtime, "containerd").unwrap();
    let mut manifest = Manifest::read(&node.disk.places, &node.new.digest).unwrap();
    manifest
        .files
        .push(FileDigest::of(&node.new_root(), "usr/bin/containerd", false).unwrap());
    manifest.write(&node.disk.places).unwrap();
    let check = || node.run("check", &node.new, true, &[]).status.code();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(check(), Some(0));
    fs::write(runtime, "containerb").unwrap();
    assert_eq!(node.guard(), Some(0), "none of its files");
    assert_eq!(check(), Some(WOULD_REBOOT));
    assert!(refused(&node.phase()).contains("usr/bin/containerd"));
}

#[test]
fn the_deadman_waits_as_long_as_the_record_says_and_a_minute() {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    let at = |ms: &str| {
        node.run("deadman", &node.new, true, &["--now", ms])
            .status
            .code()
    };
    assert_eq!(at("659000"), Some(0));
    assert_eq!(at("660000"), Some(WOULD_REBOOT));
}

#[test]
fn the_deadman_leaves_a_held_and_a_healthy_trial_alone() {
    let node = armed();
    let hold = Some(Moment {
        boot: boot_id(THIS_BOOT),
        at: SinceBoot(900_000),
    });
    node.store_upgrade(Upgrade {
        hold,
        ..node.upgrade(Phase::Trial {
            boot: boot_id(THIS_BOOT),
        })
    });
    let at = |ms: &str| {
        node.run("deadman", &node.new, true, &["--now", ms])
            .status
            .code()
    };
    assert_eq!(at("899000"), Some(0));
    assert_eq!(at("900000"), Some(WOULD_REBOOT));
    node.store(Phase::Healthy {
        boot: boot_id(THIS_BOOT),
    });
    assert_eq!(at("9000000"), Some(0));
}

#[test]
fn the_deadman_gives_the_default_time_where_nothing_can_be_read() {
    let node = armed();
    fs::remove_dir_all(node.disk.places.state()).unwrap();
    let at = |ms: &str| {
        node.run("deadman", &node.new, true, &["--now", ms])
            .status
            .code()
    };
    assert_eq!((at("600000"), at("660000")), (Some(0), Some(WOULD_REBOOT)));
}

#[test]
fn the_deadman_of_the_initramfs_looks_at_no_record() {
    let node = armed();
    let at = |ms: &str| {
        node.run("deadman", &node.new, true, &["--now", ms, "--limit", "180"])
            .status
            .code()
    };
    assert_eq!((at("179999"), at("180000")), (Some(0), Some(WOULD_REBOOT)));
}

#[test]
fn no_emergency_shell_opens_on_a_trial_until_it_is_judged_good() {
    let node = armed();
    let fallback = || node.run("fallback", &node.new, true, &[]).status.code();
    assert_eq!(fallback(), Some(WOULD_REBOOT));
    node.store(Phase::Blessed);
    assert_eq!(fallback(), Some(0));
}

#[test]
fn the_gate_opens_with_the_verdict() {
    let node = armed();
    assert_eq!(
        node.run("gate", &node.new, true, &[]).status.code(),
        Some(1)
    );
    node.store(Phase::Healthy {
        boot: boot_id(THIS_BOOT),
    });
    assert_eq!(
        node.run("gate", &node.new, true, &[]).status.code(),
        Some(0)
    );
}

/// The kubelet's state lies on a running system, whose root is the deployment and whose physical root is a mount in it.
fn running(node: &Node) -> Places {
    let root = node.disk.root(&node.old);
    let _ = symlink(&node.disk.places.sysroot, root.join("sysroot"));
    Places {
        root,
        ..node.disk.places.clone()
    }
}

#[test]
fn the_old_system_gets_its_kubelets_state_back_and_the_target_does_not() {
    let node = armed();
    let places = running(&node);
    let config = places.root.join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "old").unwrap();
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    fs::write(&config, "new").unwrap();
    let new_config = node.new_root().join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(new_config.parent().unwrap()).unwrap();
    fs::write(&new_config, "new").unwrap();

    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.new, true, &[]).status.code(),
        Some(0)
    );
    assert_eq!(fs::read_to_string(&new_config).unwrap(), "new");
    node.store(Phase::Drained);
    assert_eq!(
        node.run("restore", &node.old, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        "new",
        "nothing was tried since the snapshot"
    );
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.old, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), "old");
}

#[test]
fn a_wrong_call_says_what_is_accepted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
    let output = command.arg("dance").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage: careen-stage"));
}

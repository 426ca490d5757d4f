//! A trial's userspace in a folder: the last check of its files, the deadman, the gate, and the kubelet's state after it.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};

use host::manifest::Manifest;
use host::{Places, grubenv, snapshot};
use node::disk::{boot_id, critical, upgrade_id};
use node::{Node, THIS_BOOT, WOULD_REBOOT, armed, refused};
use upgrade::{Moment, OneShot, Phase, SinceBoot, Upgrade};

#[test]
fn what_the_initramfs_left_is_checked_before_the_kubelet() {
    let node = armed();
    let runtime = node.new_root().join("usr/bin/containerd");
    fs::write(&runtime, "containerd").unwrap();
    let mut manifest = Manifest::read(&node.disk.places, &node.new.digest).unwrap();
    manifest
        .files
        .push(critical(&node.new_root(), "usr/bin/containerd", false));
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
    assert_eq!(at("9000000"), Some(WOULD_REBOOT), "it was never blessed");
    node.store(Phase::Blessed);
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

/// Whoever reads a pipe that nobody writes to is held as by a disk that answers no more.
#[test]
fn a_disk_that_hangs_holds_the_deadman_no_longer_than_a_trial_without_a_record_may_take() {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    let record = node.disk.places.state().join("record.a");
    let _ = fs::remove_file(&record);
    nix::unistd::mkfifo(&record, nix::sys::stat::Mode::S_IRUSR).unwrap();
    let more = ["--now", "660000", "--patience", "0"];
    let ended = node.run("deadman", &node.new, true, &more);
    assert_eq!(ended.status.code(), Some(WOULD_REBOOT));
    let said = String::from_utf8(ended.stderr).unwrap();
    assert!(said.contains("the disk does not say"), "{said}");
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
fn no_emergency_shell_opens_on_a_trial_until_it_is_the_default() {
    let node = armed();
    let fallback = || node.run("fallback", &node.new, true, &[]).status.code();
    assert_eq!(fallback(), Some(WOULD_REBOOT));
    node.store(Phase::Healthy {
        boot: boot_id(THIS_BOOT),
    });
    assert_eq!(fallback(), Some(WOULD_REBOOT), "the old one is still there");
    node.store(Phase::Blessed);
    assert_eq!(fallback(), Some(0));
}

/// The loader's environment block lies on a /boot that the initramfs did not see, with the one-shot still set.
fn stuck() -> Node {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    grubenv::write_next_entry(&node.disk.places.grubenv(), Some(1)).unwrap();
    node
}

#[test]
fn a_trial_that_ends_without_its_agent_leaves_no_one_shot_that_would_begin_it_again() {
    let overdue = ["--now", "660000"];
    for (verb, more) in [("deadman", &overdue[..]), ("fallback", &[])] {
        let node = stuck();
        let path = node.disk.places.grubenv();
        let inode = fs::metadata(&path).unwrap().ino();
        let ended = node.run(verb, &node.new, true, more);
        assert_eq!(ended.status.code(), Some(WOULD_REBOOT), "{verb}");
        assert_eq!(grubenv::one_shot(&path), OneShot::Clear, "{verb}");
        assert_eq!(
            fs::metadata(&path).unwrap().ino(),
            inode,
            "written in place"
        );
    }
}

#[test]
fn a_trial_that_panics_behind_the_first_look_of_the_deadman_does_not_begin_again() {
    let node = stuck();
    let ended = node.run("deadman", &node.new, true, &["--now", "60000"]);
    assert_eq!(ended.status.code(), Some(0), "it goes on");
    assert_eq!(
        grubenv::one_shot(&node.disk.places.grubenv()),
        OneShot::Clear
    );
}

#[test]
fn a_block_that_cannot_be_read_holds_up_no_reboot_and_is_left_alone() {
    let node = stuck();
    let path = node.disk.places.grubenv();
    fs::write(&path, "short").unwrap();
    let ended = node.run("fallback", &node.new, true, &[]);
    assert_eq!(ended.status.code(), Some(WOULD_REBOOT));
    assert_eq!(fs::read(&path).unwrap(), b"short");
}

#[test]
fn the_one_shot_of_the_next_upgrade_is_left_to_it() {
    let node = blessed_and_asked_again();
    let path = node.disk.places.grubenv();
    grubenv::write_next_entry(&path, Some(1)).unwrap();
    for verb in ["fallback", "deadman"] {
        let ended = node.run(verb, &node.new, true, &["--now", "9000000"]);
        assert_eq!(ended.status.code(), Some(0), "{verb}");
        assert_eq!(grubenv::one_shot(&path), OneShot::Set, "{verb}");
    }
}

/// A system that was blessed in this boot and is to be upgraded again: the argument of its trial is still on the command line.
fn blessed_and_asked_again() -> Node {
    let node = armed();
    node.disk.menu(&[node.new.clone(), node.old.clone()]);
    node.store_upgrade(Upgrade {
        from: node.new.clone(),
        to: None,
        ..node.upgrade(Phase::Accepted)
    });
    node
}

#[test]
fn a_blessed_system_keeps_its_rescue_when_the_next_upgrade_is_in_the_record() {
    let node = blessed_and_asked_again();
    let run = |verb: &str| node.run(verb, &node.new, true, &["--now", "9000000"]);
    for verb in ["fallback", "gate", "deadman"] {
        assert_eq!(run(verb).status.code(), Some(0), "{verb}");
    }
}

#[test]
fn a_system_on_trial_gets_no_rescue_by_another_upgrades_record() {
    let node = blessed_and_asked_again();
    node.disk.menu(&[node.old.clone(), node.new.clone()]);
    let fallback = node.run("fallback", &node.new, true, &[]);
    assert_eq!(fallback.status.code(), Some(WOULD_REBOOT));
}

#[test]
fn the_gate_opens_with_the_verdict() {
    let node = armed();
    assert_eq!(
        node.run("gate", &node.new, true, &[]).status.code(),
        Some(1)
    );
    node.store(Phase::Blessed);
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
fn what_was_put_back_once_is_not_put_back_at_later_boots_until_the_target_has_run_again() {
    let node = armed();
    let places = running(&node);
    let config = places.root.join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "saved").unwrap();
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    // What a person must look at keeps its snapshot, through any number of boots.
    let reason = upgrade::Reason::UnknownSystem { booted: "x".into() };
    node.store(Phase::Halted { reason });
    let boots = |what: &str| {
        fs::write(&config, what).unwrap();
        let ended = node.run("restore", &node.old, false, &[]);
        assert_eq!(ended.status.code(), Some(0));
        fs::read_to_string(&config).unwrap()
    };
    assert_eq!(boots("of the trial"), "saved");
    assert_eq!(boots("of the old kubelet"), "of the old kubelet");
    let ended = node.run("restore", &node.new, false, &[]);
    assert_eq!(ended.status.code(), Some(0), "somebody boots it by hand");
    assert_eq!(boots("of the target"), "saved");
    assert_eq!(boots("of the old kubelet"), "of the old kubelet");
    let again = Upgrade {
        tries: 2,
        ..node.upgrade(Phase::Trial {
            boot: boot_id("b1"),
        })
    };
    node.store_upgrade(again);
    assert_eq!(boots("of a second trial"), "saved");
}

/// Saved at noon, and nothing was ever armed: what a person has changed since then stays.
#[test]
fn what_was_saved_before_an_arming_that_never_came_is_not_put_back_weeks_later() {
    for tries in 0..2 {
        let node = armed();
        let places = running(&node);
        let config = places.root.join("var/lib/kubelet/config.yaml");
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        fs::write(&config, "saved").unwrap();
        let id = upgrade_id("one");
        let before = snapshot::Before {
            id: &id,
            trials: tries,
        };
        assert!(snapshot::save_while(&places, &before, &|| true).unwrap());
        let reason = upgrade::Reason::ForeignDefault {
            default: "x".into(),
        };
        node.store_upgrade(Upgrade {
            tries,
            ..node.upgrade(Phase::Halted { reason })
        });
        fs::write(&config, "changed by a person").unwrap();
        let ended = node.run("restore", &node.old, false, &[]);
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(fs::read_to_string(&config).unwrap(), "changed by a person");
    }
}

#[test]
fn what_could_not_be_put_back_is_told_with_what_to_do_and_tried_at_each_boot_until_it_is() {
    let node = armed();
    let places = running(&node);
    let folder = places.root.join("var/lib/kubelet");
    let config = folder.join("config.yaml");
    fs::create_dir_all(&folder).unwrap();
    fs::write(&config, "saved").unwrap();
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    fs::write(&config, "of the trial").unwrap();
    let away = folder.with_file_name("away");
    fs::rename(&folder, &away).unwrap();
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    let boot = || node.run("restore", &node.old, false, &[]);
    for phase in [node.phase(), failed()] {
        node.store(phase);
        let ended = boot();
        assert_eq!(ended.status.code(), Some(1));
        let told = String::from_utf8(ended.stderr).unwrap();
        let kept = places.snapshot(&upgrade_id("one")).display().to_string();
        for word in [
            "config.yaml",
            &kept,
            "systemctl start careen-restore.service",
        ] {
            assert!(told.contains(word), "no {word} in: {told}");
        }
        assert!(snapshot::owed(&places, &upgrade_id("one")).is_some());
    }
    fs::rename(&away, &folder).unwrap();
    assert_eq!(boot().status.code(), Some(0), "its upgrade is long over");
    assert_eq!(fs::read_to_string(&config).unwrap(), "saved");
    fs::write(&config, "of the old kubelet").unwrap();
    assert_eq!(boot().status.code(), Some(0));
    assert_eq!(fs::read_to_string(&config).unwrap(), "of the old kubelet");
    assert!(!snapshot::exists(&places, &upgrade_id("one")));
}

fn failed() -> Phase {
    Phase::Failed {
        reason: upgrade::Reason::NoVerdict {
            commit: "b".repeat(64),
            tries: 1,
        },
    }
}

#[test]
fn the_target_forgets_that_the_old_system_is_owed_its_state() {
    let node = armed();
    let places = running(&node);
    let id = upgrade_id("one");
    snapshot::save(&places, &id).unwrap();
    let owed = snapshot::Owed {
        why: "the disk was full".to_owned(),
        to: Some(node.old.clone()),
    };
    snapshot::owe(&places, &id, &owed).unwrap();
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.new, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(snapshot::owed(&places, &id), None);
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

/// Somebody picks the old system in the menu of an armed node, and a power cut brings back the one-shot that the loader had cleared: the trial
/// that then comes about was counted before.
#[test]
fn what_is_put_back_while_the_trial_may_still_come_is_put_back_again_behind_it() {
    let node = armed();
    let places = running(&node);
    let config = places.root.join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, "old").unwrap();
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    for phase in [
        Phase::Armed {
            boot: boot_id("b0"),
        },
        Phase::Trial {
            boot: boot_id("b0"),
        },
    ] {
        fs::write(&config, "new").unwrap();
        node.store(phase);
        let done = node.run("restore", &node.old, false, &[]);
        assert_eq!(done.status.code(), Some(0));
        assert_eq!(fs::read_to_string(&config).unwrap(), "old");
    }
}

//! Who ends a trial that reaches no verdict: when, whatever can be read by then, and so that it
//! does not begin again.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::os::unix::fs::MetadataExt;

use host::loader;
use node::disk::boot_id;
use node::{Node, THIS_BOOT, WOULD_REBOOT, armed};
use upgrade::{Moment, OneShot, Phase, SinceBoot};

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
    let note = node.disk.places.sysroot.join(upgrade::names::DEADMAN_NOTE);
    assert_eq!((at("659000"), note.exists()), (Some(0), false));
    assert_eq!(at("660000"), Some(WOULD_REBOOT));
    assert_eq!(
        fs::read_to_string(note).unwrap(),
        THIS_BOOT,
        "for the old system"
    );
}

#[test]
fn the_deadman_leaves_a_held_and_a_healthy_trial_alone() {
    let node = armed();
    let hold = Some(Moment {
        boot: boot_id(THIS_BOOT),
        at: SinceBoot(900_000),
    });
    let mut trial = node.upgrade(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    trial.attempt.hold = hold;
    node.store_upgrade(trial);
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

/// A reader of a pipe that nobody writes to is held as by a disk that answers no more.
#[test]
fn hung_disk_delays_the_deadman_only_until_the_default_deadline() {
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
    assert!(said.contains("the disk does not answer"), "{said}");
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
fn initramfs_deadman_waits_as_long_as_the_loader_says() {
    let node = armed();
    let cmdline = node.disk.folder.path().join("cmdline-of-a-slow-disk");
    fs::write(&cmdline, "careen.trial=1 careen.initramfs-seconds=460\n").unwrap();
    let at = |ms: &str| {
        let cmdline = cmdline.to_str().unwrap();
        let more = ["--now", ms, "--limit", "180", "--cmdline", cmdline];
        node.run("deadman", &node.new, true, &more).status.code()
    };
    assert_eq!((at("459999"), at("460000")), (Some(0), Some(WOULD_REBOOT)));
}

/// The loader's environment block is on a /boot that the initramfs did not see, with the one-shot
/// still set.
fn stuck() -> Node {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    node.arm();
    node
}

#[test]
fn trial_ended_without_an_agent_clears_the_one_shot_in_place() {
    let overdue = ["--now", "660000"];
    for (verb, more) in [("deadman", &overdue[..]), ("fallback", &[])] {
        let node = stuck();
        let path = node.disk.places.grubenv();
        let inode = fs::metadata(&path).unwrap().ino();
        let ended = node.run(verb, &node.new, true, more);
        assert_eq!(ended.status.code(), Some(WOULD_REBOOT), "{verb}");
        assert_eq!(
            loader::one_shot(&node.disk.places),
            OneShot::Clear,
            "{verb}"
        );
        assert_eq!(
            fs::metadata(&path).unwrap().ino(),
            inode,
            "written in place"
        );
    }
}

#[test]
fn first_deadman_look_clears_the_one_shot() {
    let node = stuck();
    let ended = node.run("deadman", &node.new, true, &["--now", "60000"]);
    assert_eq!(ended.status.code(), Some(0), "it goes on");
    assert_eq!(loader::one_shot(&node.disk.places), OneShot::Clear);
}

#[test]
fn fallback_reboots_with_an_unreadable_grubenv_left_unchanged() {
    let node = stuck();
    let path = node.disk.places.grubenv();
    fs::write(&path, "short").unwrap();
    let ended = node.run("fallback", &node.new, true, &[]);
    assert_eq!(ended.status.code(), Some(WOULD_REBOOT));
    assert_eq!(fs::read(&path).unwrap(), b"short");
}

/// The new system is blessed, and the deadman has seen it.
fn passed() -> Node {
    let node = armed();
    node.store(Phase::Blessed);
    let seen = node.run("deadman", &node.new, true, &["--now", "300000"]);
    assert_eq!(seen.status.code(), Some(0));
    node
}

fn marks(node: &Node) -> Vec<String> {
    let folder = node.disk.folder.path().join("run/careen");
    let files = fs::read_dir(folder).into_iter().flatten();
    let name = |file: fs::DirEntry| file.file_name().into_string().unwrap();
    files.map(|file| name(file.unwrap())).collect()
}

#[test]
fn passed_system_survives_losing_its_record_and_boot_menu() {
    let node = passed();
    fs::remove_dir_all(node.disk.places.state()).unwrap();
    fs::remove_dir_all(node.disk.places.boot.join("loader")).unwrap();
    for verb in ["deadman", "fallback", "gate"] {
        let ended = node.run(verb, &node.new, true, &["--now", "9000000"]);
        assert_eq!(ended.status.code(), Some(0), "{verb}");
    }
}

#[test]
fn passed_mark_is_private_to_root_and_valid_for_one_boot_only() {
    let node = passed();
    let id = THIS_BOOT.replace('-', "");
    assert_eq!(marks(&node), [format!("passed-{id}")]);
    let folder = node.disk.folder.path().join("run/careen");
    assert_eq!(fs::metadata(&folder).unwrap().mode() & 0o777, 0o700);
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    let overdue = || {
        let ended = node.run("deadman", &node.new, true, &["--now", "660000"]);
        ended.status.code()
    };
    assert_eq!(overdue(), Some(0));
    let former = folder.join(format!("passed-{}", "0".repeat(32)));
    fs::rename(folder.join(&marks(&node)[0]), former).unwrap();
    assert_eq!(overdue(), Some(WOULD_REBOOT), "another boot's");
}

#[test]
fn unpassed_trial_leaves_no_mark_even_when_set_as_the_default() {
    let node = armed();
    node.store(Phase::Healthy {
        boot: boot_id(THIS_BOOT),
    });
    for menu in [[&node.old, &node.new], [&node.new, &node.old]] {
        node.disk.menu(&menu.map(Clone::clone));
        let looked = node.run("deadman", &node.new, true, &["--now", "300000"]);
        assert_eq!(looked.status.code(), Some(0), "it goes on");
        assert_eq!(marks(&node), [""; 0]);
    }
}

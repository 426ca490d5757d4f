//! Whole boots in a folder: what the stage lets through from the initramfs, what it sends back, and
//! what it leaves in the record.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::process::{Command, Output};

use host::critical::CriticalFiles;
use host::loader;
use node::disk::{boot_id, content, link};
use node::{THIS_BOOT, WOULD_REBOOT, armed, refused};
use upgrade::{OneShot, Phase};

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
    fs::remove_file(node.disk.places.critical_files(&node.new.digest)).unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn a_manifest_that_cannot_be_read_lets_nothing_pass() {
    let node = armed();
    let path = node.disk.places.critical_files(&node.new.digest);
    let whole = fs::read(&path).unwrap();
    let half = whole.len() / 2;
    let inverted: Vec<_> = whole.iter().map(|byte| !byte).collect();
    for damaged in [&whole[..half], &whole[half..], &inverted[..], &[]] {
        node.store(Phase::Armed { boot: boot_id("0") });
        fs::write(&path, damaged).unwrap();
        assert_eq!(node.guard(), Some(WOULD_REBOOT));
    }
    fs::write(&path, whole).unwrap();
    node.store(Phase::Armed { boot: boot_id("0") });
    assert_eq!(node.guard(), Some(0));
}

/// GRUB cannot have armed it by that block any more, nor will it again: there is nothing to clear.
#[test]
fn trial_goes_on_with_a_damaged_grubenv_and_leaves_it_unchanged() {
    for damaged in [vec![], vec![0; 1024], b"# GRUB Environment Block".to_vec()] {
        let node = armed();
        fs::write(node.disk.places.grubenv(), &damaged).unwrap();
        assert_eq!(node.guard(), Some(0));
        let this = boot_id(THIS_BOOT);
        assert_eq!(node.phase(), Phase::Trial { boot: this });
        assert_eq!(fs::read(node.disk.places.grubenv()).unwrap(), damaged);
    }
}

#[test]
fn a_manifest_cannot_lead_out_of_the_deployment() {
    let node = armed();
    let mut list = CriticalFiles::read(&node.disk.places, &node.new.digest).unwrap();
    list.files[0].path = "../../../../../grub/grubenv".to_owned();
    list.write(&node.disk.places).unwrap();
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
}

#[test]
fn a_one_shot_that_the_loader_left_is_cleared_first() {
    let node = armed();
    node.arm();
    assert_eq!(node.guard(), Some(0));
    assert_eq!(loader::one_shot(&node.disk.places), OneShot::Clear);
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
    fs::remove_dir_all(node.disk.places.state()).unwrap();
    let said = told(&node.run("guard", &node.new, true, &[]));
    assert!(said.contains("no trial of this system was armed"), "{said}");
}

/// The old system is the default: a reboot would lead to it again, for ever.
#[test]
fn a_default_whose_entry_has_a_trials_arguments_passes() {
    let node = armed();
    let guard = || node.run("guard", &node.old, true, &[]).status.code();
    assert_eq!(guard(), Some(0));
    fs::remove_dir_all(node.disk.places.state()).unwrap();
    assert_eq!(guard(), Some(0));
}

#[test]
fn trial_with_a_damaged_record_reboots_and_leaves_the_record() {
    let node = armed();
    for name in ["record.a", "record.b"] {
        fs::write(node.disk.places.state().join(name), "x").unwrap();
    }
    let before = content(&node.disk.places.state());
    assert_eq!(node.guard(), Some(WOULD_REBOOT));
    assert_eq!(content(&node.disk.places.state()), before);
}

/// What the console shows in the end.
fn told(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(WOULD_REBOOT));
    let said = String::from_utf8_lossy(&output.stderr);
    said.lines().next_back().unwrap().to_owned()
}

#[test]
fn the_console_says_why_the_guard_refuses() {
    let node = armed();
    let guard = |booted| told(&node.run("guard", booted, true, &[]));
    node.store(Phase::Drained);
    assert!(
        guard(&node.new).contains("no trial of this system is armed: its upgrade is at Drained")
    );
    node.store(Phase::Trial {
        boot: boot_id("a0"),
    });
    assert!(guard(&node.new).contains("already entered, in boot a0"));
    node.store(Phase::Armed { boot: boot_id("0") });
    fs::write(node.new_root().join("usr/bin/kubelet"), "kubelot").unwrap();
    assert!(guard(&node.new).contains("usr/bin/kubelet"));
    for name in ["record.a", "record.b"] {
        fs::write(node.disk.places.state().join(name), "x").unwrap();
    }
    assert!(guard(&node.new).contains("cannot read its record"));
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
fn verify_accepts_the_prepared_root_of_the_target() {
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
    assert!(refused(&node.phase()).contains("instead of"));
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
fn a_wrong_call_says_what_is_accepted() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
    let output = command.arg("dance").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("usage: careen-stage"));
}

//! The stage's programs use much less memory than their units allow. systemd kills a program that
//! uses more. That would end a good trial, or leave the old kubelet with a state that it cannot
//! read.
#![allow(clippy::unwrap_used, clippy::panic)]

mod node;

use std::fs::{self, File};
use std::os::unix::fs::{FileExt, symlink};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use host::critical::{CriticalFile, CriticalFiles};
use host::{Places, snapshot};
use nix::libc;
use node::disk::{boot_id, critical, link, upgrade_id};
use node::{Node, THIS_BOOT, WOULD_REBOOT, armed};
use sha2::{Digest as _, Sha256};
use upgrade::{Deployment, Phase};

const MIB: u64 = 1 << 20;

/// How a run ended, and its peak memory, in bytes.
struct Ran {
    code: Option<i32>,
    most: u64,
}

fn run(node: &Node, verb: &str, booted: &Deployment, trial: bool) -> Ran {
    let folder = node.disk.folder.path();
    let trial = if trial { "careen.trial=1" } else { "quiet" };
    let line = format!("root=UUID=1 ostree={} {trial}\n", link(booted));
    fs::write(folder.join("cmdline"), line).unwrap();
    fs::write(folder.join("boot-id"), format!("{THIS_BOOT}\n")).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
    command.args([verb, "--dry-run", "--now", "60000"]);
    for (flag, path) in [
        ("--sysroot", node.disk.places.sysroot.clone()),
        ("--boot", node.disk.places.boot.clone()),
        ("--root", node.disk.root(booted)),
        ("--run", folder.join("run")),
        ("--cmdline", folder.join("cmdline")),
        ("--boot-id", folder.join("boot-id")),
    ] {
        command.arg(flag).arg(path);
    }
    measure(&mut command)
}

/// Waits for the child, because the kernel then reports its peak memory. The child begins as a copy
/// of this process, so this process holds nothing large.
#[expect(
    unsafe_code,
    reason = "nothing safe tells the memory of one child; what is passed lives on this stack"
)]
// `wait4` waits for it by its number.
#[allow(clippy::zombie_processes)]
fn measure(command: &mut Command) -> Ran {
    let child = command.stdin(Stdio::null()).spawn().unwrap();
    let id = child.id().try_into().unwrap();
    // SAFETY: the kernel writes one number and one structure, which may be all zeros before.
    let (ended, status, usage) = unsafe {
        let (mut status, mut usage) = (0, std::mem::zeroed::<libc::rusage>());
        let ended = libc::wait4(id, &raw mut status, 0, &raw mut usage);
        (ended, status, usage)
    };
    assert_eq!(ended, id, "wait4: {}", std::io::Error::last_os_error());
    Ran {
        code: ExitStatus::from_raw(status).code(),
        // In KiB, getrusage(2).
        most: u64::try_from(usage.ru_maxrss).unwrap() << 10,
    }
}

/// What the unit of a verb allows it, in bytes.
fn limit(verb: &str) -> u64 {
    let source = Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..");
    let unit = source.join(format!("systemd/system/careen-{verb}.service"));
    let text = fs::read_to_string(&unit).unwrap();
    let line = format!("ExecStart=/usr/libexec/careen/careen-stage {verb}");
    assert!(text.lines().any(|found| found == line), "{verb}");
    let limit = text
        .lines()
        .find_map(|line| line.strip_prefix("MemoryMax="));
    let mib: u64 = limit.unwrap().strip_suffix('M').unwrap().parse().unwrap();
    mib * MIB
}

/// A quarter is left, for another architecture and another libc.
fn fits(verb: &str, ran: &Ran) {
    let (most, limit) = (ran.most, limit(verb));
    println!("{verb}: {} KiB of {} KiB", most >> 10, limit >> 10);
    assert!(
        most <= limit / 4 * 3,
        "careen-stage {verb} takes {most} bytes, of {limit} at most"
    );
}

/// Holes take no disk.
fn of_zeros(path: &Path, bytes: u64) -> File {
    let file = File::create(path).unwrap();
    file.set_len(bytes).unwrap();
    file
}

#[test]
fn what_runs_all_through_a_trial_takes_little_memory() {
    let node = armed();
    node.store(Phase::Trial {
        boot: boot_id(THIS_BOOT),
    });
    for (verb, code) in [("deadman", 0), ("gate", 1), ("fallback", WOULD_REBOOT)] {
        let ran = run(&node, verb, &node.new, true);
        assert_eq!(ran.code, Some(code), "{verb}");
        fits(verb, &ran);
    }
}

/// A kubelet of nearly the whole limit.
const KUBELET: u64 = 112 * MIB;

#[test]
fn the_last_check_takes_no_more_memory_for_a_large_program() {
    let node = armed();
    let path = "usr/bin/containerd";
    File::create(node.new_root().join(path)).unwrap();
    let empty = critical(&node.new_root(), path, false);
    of_zeros(&node.new_root().join(path), KUBELET);
    let mut sum = Sha256::new_with_prefix(&empty.header);
    let piece = [0; 1 << 16];
    (0..KUBELET / piece.len() as u64).for_each(|_| sum.update(piece));
    let mut list = CriticalFiles::read(&node.disk.places, &node.new.digest).unwrap();
    list.files.push(CriticalFile {
        size: KUBELET,
        object: hex::encode(sum.finalize()).parse().unwrap(),
        ..empty
    });
    list.write(&node.disk.places).unwrap();
    let ran = run(&node, "check", &node.new, true);
    assert_eq!(ran.code, Some(0));
    fits("check", &ran);
}

/// The largest file of a snapshot, and as many more as one may hold (`host::snapshot`).
const LARGE: u64 = 64 * MIB;
const MORE: (u64, u64) = (12, 16 * MIB);

/// The old system's state as large as it may be, saved and then changed in the last byte of each
/// file.
fn with_the_largest_state() -> (Node, Vec<std::path::PathBuf>) {
    let node = armed();
    let root = node.disk.root(&node.old);
    symlink(&node.disk.places.sysroot, root.join("sysroot")).unwrap();
    let places = Places {
        root: root.clone(),
        ..node.disk.places.clone()
    };
    let folder = root.join("var/lib/plugin");
    for folder in [&folder, &root.join("etc/careen/snapshot.d")] {
        fs::create_dir_all(folder).unwrap();
    }
    fs::write(
        root.join("etc/careen/snapshot.d/plugin"),
        "/var/lib/plugin\n",
    )
    .unwrap();
    let files: Vec<_> = (0..=MORE.0)
        .map(|at| folder.join(format!("{at:02}")))
        .collect();
    files.iter().for_each(|file| fs::write(file, "x").unwrap());
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    // The files grow after the save, because the save would hold as much memory as the restore.
    for (at, file) in files.iter().enumerate() {
        let bytes = if at == 0 { LARGE } else { MORE.1 };
        let saved = places.snapshot(&upgrade_id("one")).join(at.to_string());
        assert_eq!(
            fs::read(&saved).unwrap(),
            b"x",
            "a snapshot of another format"
        );
        of_zeros(&saved, bytes);
        of_zeros(file, bytes).write_all_at(b"y", bytes - 1).unwrap();
    }
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    (node, files)
}

#[test]
fn restore_of_the_largest_kubelet_state_fits_its_memory_limit() {
    let (node, files) = with_the_largest_state();
    let ran = run(&node, "restore", &node.old, false);
    assert_eq!(ran.code, Some(0));
    for file in files {
        let mut last = [1];
        let (file, bytes) = (File::open(&file).unwrap(), file.metadata().unwrap().len());
        file.read_exact_at(&mut last, bytes - 1).unwrap();
        assert_eq!(last, [0], "it is as the trial has left it");
    }
    assert!(ran.most > LARGE, "this measures something else");
    fits("restore", &ran);
}

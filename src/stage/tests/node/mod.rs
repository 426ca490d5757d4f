//! A node in a folder, and the stage's verbs on it.
#![allow(dead_code, missing_docs, clippy::unwrap_used, clippy::panic)]

#[path = "../../../host/tests/disk/mod.rs"]
pub mod disk;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use disk::{Disk, boot_id, critical, deployment, link};
use host::Places;
use host::critical::CriticalFiles;
use host::record::Store;
use upgrade::{Deployment, Phase, RawRequest, Reason, Record, RecordStore, Upgrade};

/// The id of the boot that a verb runs in.
pub const THIS_BOOT: &str = "11111111-2222-4333-8444-555555555555";
/// What a verb ends with when it would reboot.
pub const WOULD_REBOOT: i32 = 3;

/// An old system `a` that has armed a new one `b`.
pub struct Node {
    pub disk: Disk,
    pub old: Deployment,
    pub new: Deployment,
}

pub fn armed() -> Node {
    let (old, new) = (deployment('a', 0), deployment('b', 0));
    let disk = Disk::new(&[old.clone(), new.clone()]);
    let node = Node { disk, old, new };
    let kubelet = node.new_root().join("usr/bin/kubelet");
    fs::create_dir_all(kubelet.parent().unwrap()).unwrap();
    fs::write(&kubelet, "kubelet").unwrap();
    let file = critical(&node.new_root(), "usr/bin/kubelet", true);
    let list = CriticalFiles {
        format: 1,
        commit: node.new.digest.clone(),
        bootcsum: node.new.bootcsum.clone(),
        files: vec![file],
    };
    list.write(&node.disk.places).unwrap();
    node.store(Phase::Armed { boot: boot_id("0") });
    node
}

impl Node {
    pub fn new_root(&self) -> PathBuf {
        self.disk.root(&self.new)
    }

    pub fn upgrade(&self, phase: Phase) -> Upgrade {
        let text = serde_json::json!({
            "id": "one", "request": RawRequest { request: "Scheduled".into(), ..RawRequest::default() },
            "target": format!("ostree:careen:os@{}", self.new.digest), "phase": phase,
            "from": self.old, "to": self.new, "tries": 1, "deadline_seconds": 600,
        });
        serde_json::from_value(text).unwrap()
    }

    pub fn store(&self, phase: Phase) {
        self.store_upgrade(self.upgrade(phase));
    }

    pub fn store_upgrade(&self, upgrade: Upgrade) {
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

    pub fn phase(&self) -> Phase {
        Store::new(&self.disk.places.sysroot)
            .read()
            .unwrap()
            .upgrade
            .unwrap()
            .phase
    }

    /// Runs a verb in a boot of `deployment`.
    pub fn run(&self, verb: &str, booted: &Deployment, trial: bool, more: &[&str]) -> Output {
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

    /// The one-shot is still set, as after a loader that did not clear it.
    pub fn arm(&self) {
        self.disk.arm(&self.new).unwrap();
    }

    pub fn guard(&self) -> Option<i32> {
        self.run("guard", &self.new, true, &[]).status.code()
    }
}

/// The kubelet's state is on a running system, whose root is the deployment and whose physical root
/// is a mount in it.
pub fn running(node: &Node) -> Places {
    let root = node.disk.root(&node.old);
    let _ = symlink(&node.disk.places.sysroot, root.join("sysroot"));
    Places {
        root,
        ..node.disk.places.clone()
    }
}

/// The kubelet's configuration in this root, which says this.
pub fn config_in(root: &Path, text: &str) -> PathBuf {
    let config = root.join("var/lib/kubelet/config.yaml");
    fs::create_dir_all(config.parent().unwrap()).unwrap();
    fs::write(&config, text).unwrap();
    config
}

pub fn refused(phase: &Phase) -> &str {
    match phase {
        Phase::Reverting {
            reason: Reason::StageRefused { detail, .. },
        } => detail,
        other => panic!("{other:?}"),
    }
}

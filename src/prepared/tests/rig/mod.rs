//! A host in a folder, with a power switch.
#![allow(dead_code)]

pub mod cutting;
pub mod machine;
pub mod tree;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use host::Places;
use life::{Claim, ClaimId, Claimed, Release, Wanted};
use prepared::join::Handed;
use prepared::{Host, Passed, Paths, Told};
use tempfile::TempDir;

use cutting::Cutting;
use machine::Fake;

/// A worker's data as the kubeadm bootstrap provider writes them.
pub const WORKER: &str = include_str!("../../../cloud-config/tests/samples/worker.yaml");

pub fn id(letter: char) -> ClaimId {
    letter.to_string().repeat(16).parse().unwrap()
}

pub fn handed(text: &str) -> Handed {
    Handed {
        data: text.to_owned(),
        hostname: "n-1".to_owned(),
        provider_id: format!("careen://fleet/n-1/{}", id('a')),
        failure_domain: None,
        ignore: Vec::new(),
    }
}

pub fn claim(letter: char) -> Claim {
    Claim {
        id: id(letter),
        machine: "worker-1".to_owned(),
        cluster: "north".to_owned(),
        image: None,
        version: None,
        provider_id: format!("careen://fleet/n-1/{}", id(letter)),
        wanted: Wanted::Joined,
        release: Release::Clean,
        bootstrap_hash: Some(handed(WORKER).hash().unwrap()),
        join_seconds: 1200,
        lost: false,
    }
}

pub fn wanted(letter: char) -> Told {
    Told {
        claimed: Claimed::By(Box::new(claim(letter))),
        data: Some((id(letter), handed(WORKER))),
    }
}

pub fn released(letter: char) -> Told {
    let claim = Claim {
        wanted: Wanted::Released,
        ..claim(letter)
    };
    Told {
        claimed: Claimed::By(Box::new(claim)),
        data: None,
    }
}

/// A host with two deployments. The first one runs.
pub struct Rig {
    _folder: TempDir,
    pub paths: Paths,
    pub disk: Rc<Cutting>,
    pub machine: Fake,
    pub other: PathBuf,
}

impl Rig {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new().tempdir_in("/dev/shm").unwrap();
        let sysroot = folder.path().join("sysroot");
        let root = deployment(&sysroot, 'a');
        let other = deployment(&sysroot, 'b');
        fill(&root);
        let places = Places {
            boot: root.join("boot"),
            root,
            sysroot: sysroot.clone(),
        };
        fs::create_dir_all(places.state().join("host")).unwrap();
        let paths = Paths { places };
        let disk = Rc::new(Cutting::default());
        let machine = Fake::new(paths.clone(), disk.clone());
        Self {
            _folder: folder,
            paths,
            disk,
            machine,
            other,
        }
    }

    pub fn root(&self) -> &Path {
        &self.paths.places.root
    }

    pub fn put(&self, path: &str, text: &str) {
        put(&self.paths.below(path), text);
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.paths.below(path)).unwrap()
    }

    pub fn has(&self, path: &str) -> bool {
        self.paths.below(path).symlink_metadata().is_ok()
    }

    /// One pass of a careen-host that has just started.
    pub fn pass(&mut self, told: &Told) -> prepared::Result<Passed> {
        let disk = self.disk.clone();
        let mut host = Host::new(&self.paths, disk.as_ref());
        if let Some(checked) = self.machine.checked.take() {
            host.remember(checked);
        }
        let passed = host.pass(&mut self.machine, told);
        self.machine.checked = host.remembered();
        passed
    }

    /// What is on the disk, apart from Careen's own and what a reboot empties.
    pub fn tree(&self) -> tree::Tree {
        let mut tree = tree::of(self.root());
        tree.retain(|path, _| !path.starts_with("run"));
        tree.extend(
            tree::of(&self.other)
                .into_iter()
                .map(|(path, node)| (format!("other/{path}"), node)),
        );
        tree
    }
}

pub fn put(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

fn deployment(sysroot: &Path, letter: char) -> PathBuf {
    let digest = letter.to_string().repeat(64);
    let folder = sysroot.join(format!("ostree/deploy/os/deploy/{digest}.0"));
    for name in [
        "etc/systemd/system",
        "usr/etc/kubernetes/manifests",
        "usr/etc/cni/net.d",
        "usr/bin",
    ] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    put(
        &folder.join("usr/etc/cni/net.d/99-loopback.conf"),
        "loopback",
    );
    put(&folder.join("etc/cni/net.d/99-loopback.conf"), "loopback");
    let link = sysroot.join(format!("ostree/boot.1/os/{digest}/0"));
    fs::create_dir_all(link.parent().unwrap()).unwrap();
    symlink(format!("../../../deploy/os/deploy/{digest}.0"), link).unwrap();
    folder
}

/// What an operator has prepared.
fn fill(root: &Path) {
    for name in [
        "etc/kubernetes/manifests",
        "run/careen",
        "var/lib",
        "var/log",
        "opt",
    ] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    put(&root.join("etc/hosts"), "127.0.0.1 localhost\n");
    put(&root.join("etc/machine-id"), "1");
    put(&root.join("proc/sys/kernel/hostname"), "n-1\n");
}

//! A node's disk in a temporary folder, with libostree's layout.

#![allow(dead_code, missing_docs, clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use host::Places;
use host::critical::CriticalFile;
use host::loader::grub::Grubenv;
use host::loader::grub::generate::{Item, render};
use host::loader::{self, Aim};
use sha2::{Digest as _, Sha256};
use tempfile::TempDir;
use upgrade::{BootId, Deployment, UpgradeId};

/// The stateroot of every test.
pub const STATEROOT: &str = "debian";

/// A disk with /boot on the root file system.
pub struct Disk {
    pub folder: TempDir,
    pub places: Places,
}

/// A deployment with one letter for its commit, and its own kernel.
pub fn deployment(letter: char, serial: u32) -> Deployment {
    let hex = |text: String| text.parse().unwrap();
    Deployment {
        digest: hex(letter.to_string().repeat(64)),
        serial,
        stateroot: STATEROOT.to_owned(),
        bootcsum: kernel_checksum(letter),
        pinned: false,
        kept: false,
    }
}

fn kernel_checksum(letter: char) -> String {
    hex::encode(Sha256::digest(format!("kernel {letter}initramfs {letter}")))
}

pub fn boot_id(text: &str) -> BootId {
    text.parse().unwrap()
}

pub fn upgrade_id(text: &str) -> UpgradeId {
    text.parse().unwrap()
}

/// A critical file as a commit made from the current content would name it.
pub fn critical(root: &Path, path: &str, boot: bool) -> CriticalFile {
    let header = b"owner, mode and attributes".to_vec();
    let content = fs::read(root.join(path)).unwrap();
    let sum = Sha256::new_with_prefix(&header).chain_update(&content);
    CriticalFile {
        path: path.to_owned(),
        size: content.len().try_into().unwrap(),
        object: hex::encode(sum.finalize()).parse().unwrap(),
        header,
        boot,
        verity: None,
    }
}

/// An empty environment block.
pub fn empty_block() -> Vec<u8> {
    let mut block = b"# GRUB Environment Block\n".to_vec();
    block.resize(1024, b'#');
    block
}

impl Disk {
    /// A disk with these deployments in the boot menu, the default first.
    pub fn new(deployments: &[Deployment]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::physical(folder.path());
        fs::create_dir_all(places.boot.join("grub")).unwrap();
        fs::write(places.grubenv(), empty_block()).unwrap();
        symlink("../loader/grub.cfg", places.boot.join("grub/grub.cfg")).unwrap();
        let disk = Self { folder, places };
        deployments.iter().for_each(|one| disk.lay_out(one));
        disk.menu(deployments);
        disk
    }

    pub fn root(&self, deployment: &Deployment) -> PathBuf {
        self.places.deployment(deployment)
    }

    /// Writes the deployment's folder, its kernel and its boot link.
    pub fn lay_out(&self, deployment: &Deployment) {
        let letter = deployment.digest.as_str().chars().next().unwrap();
        let root = self.root(deployment);
        let modules = root.join(format!("usr/lib/modules/6.{letter}"));
        let boot = self
            .places
            .boot
            .join(format!("ostree/{STATEROOT}-{}", deployment.bootcsum));
        for folder in [&modules, &boot] {
            fs::create_dir_all(folder).unwrap();
            for (name, content) in [("vmlinuz", "kernel"), ("initramfs.img", "initramfs")] {
                fs::write(folder.join(name), format!("{content} {letter}")).unwrap();
            }
        }
        let pin = format!(
            "[origin]\nrefspec=careen:os\n[libostree-transient]\npinned={}\n[careen]\nkept={}\n",
            deployment.pinned, deployment.kept
        );
        fs::write(self.origin(deployment), pin).unwrap();
        let link = self
            .places
            .sysroot
            .join(link(deployment).trim_start_matches('/'));
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        let name = format!("{}.{}", deployment.digest, deployment.serial);
        let _ = fs::remove_file(&link);
        symlink(format!("../../../deploy/{STATEROOT}/deploy/{name}"), link).unwrap();
    }

    fn origin(&self, deployment: &Deployment) -> PathBuf {
        PathBuf::from(format!("{}.origin", self.root(deployment).display()))
    }

    /// Writes the boot entries and their menu.
    pub fn menu(&self, deployments: &[Deployment]) {
        let entries = self.places.boot.join("loader.1/entries");
        let _ = fs::remove_dir_all(&entries);
        fs::create_dir_all(&entries).unwrap();
        for (at, one) in deployments.iter().enumerate() {
            fs::write(
                entries.join(format!("ostree-{}-{STATEROOT}.conf", at + 1)),
                bls(one, deployments.len() - at),
            )
            .unwrap();
        }
        let loader = self.places.boot.join("loader");
        let _ = fs::remove_file(&loader);
        symlink("loader.1", loader).unwrap();
        let entries = host::boot::entries(&self.places.boot.join("loader")).unwrap();
        let items = entries.into_iter().map(|entry| Item {
            entry,
            proven: false,
        });
        let text = render(
            &items.collect::<Vec<_>>(),
            "/boot/grub/grubenv",
            host::loader::TRIAL_ARGUMENTS,
        );
        fs::write(self.places.boot.join("loader.1/grub.cfg"), text).unwrap();
    }

    /// Arms the deployment. Returns its current position in the menu.
    pub fn arm(&self, deployment: &Deployment) -> host::Result<usize> {
        loader::aim(&self.places, Aim::Trial(deployment))?;
        let env = Grubenv::parse(&fs::read(self.places.grubenv()).unwrap()).unwrap();
        Ok(env.next_entry().unwrap().parse().unwrap())
    }
}

/// The `ostree=` argument of a deployment.
pub fn link(deployment: &Deployment) -> String {
    format!(
        "/ostree/boot.1/{STATEROOT}/{}/{}",
        deployment.bootcsum, deployment.serial
    )
}

fn bls(deployment: &Deployment, version: usize) -> String {
    let letter = deployment.digest.as_str().chars().next().unwrap();
    let folder = format!("/boot/ostree/{STATEROOT}-{}", deployment.bootcsum);
    format!(
        "title Debian {letter} (ostree:0)\nversion {version}\noptions root=UUID=1 rw console=ttyS0 ostree={}\n\
         linux {folder}/vmlinuz\ninitrd {folder}/initramfs.img\naboot /x\n",
        link(deployment)
    )
}

/// All files below a folder with their content, to compare before and after.
pub fn content(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut found = Vec::new();
    for child in fs::read_dir(folder).unwrap() {
        let path = child.unwrap().path();
        if path.is_dir() {
            found.extend(content(&path))
        } else {
            found.push((path.clone(), fs::read(&path).unwrap()))
        }
    }
    found.sort();
    found
}

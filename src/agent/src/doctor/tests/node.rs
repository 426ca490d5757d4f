//! A node in temporary folders.

use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::{Path, PathBuf};

use host::Places;
use nix::sys::stat::{major, minor};
use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};
use upgrade::names::{self, Kind};
use upgrade::{Record, RecordStore};

use super::super::cpio::tests::archive;
use super::super::{Clock, Finding, Patient, Store, Verdict, examine};
use super::disk::{Disk, deployment};
use crate::limits::Measured;

/// 2026-06-01, within the certificate's time.
const NOW: u64 = 1_780_272_000;

/// A node's disk and kernel in temporary folders.
pub(in crate::doctor) struct Node {
    pub(super) disk: Disk,
    pub(super) kernel: tempfile::TempDir,
}

pub(super) fn write(path: &Path, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

impl Node {
    /// Nothing is wrong with it.
    pub(in crate::doctor) fn sound() -> Self {
        let one = deployment('a', 0);
        let disk = Disk::new(std::slice::from_ref(&one));
        let this = Self {
            kernel: tempfile::tempdir().unwrap(),
            disk,
        };
        this.block_device();
        this.watchdog();
        this.image();
        this.units();
        this.initramfs(&[
            "bin/careen-stage",
            "x/careen-guard.service",
            "x/careen-verify.service",
            "x/careen-fallback.service",
            "x/careen-initrd-deadman.timer",
        ]);
        this.remote("url=https://images.example/repo\n");
        write(
            &this
                .disk
                .places
                .sysroot
                .join("ostree/repo/site.trustedkeys.gpg"),
            "a key",
        );
        this.credential("system:node:n1", 2027);
        this
    }

    pub(super) fn root(&self) -> PathBuf {
        self.disk.root(&deployment('a', 0))
    }

    pub(in crate::doctor) fn patient(&self) -> Patient {
        let root = self.root();
        Patient {
            kernel: self.kernel.path().to_owned(),
            kubeconfig: root.join("etc/kubernetes/kubelet.conf"),
            policy: root.join("etc/careen/policy.toml"),
            clock: Clock {
                wall: NOW,
                in_step: Some(true),
            },
            measured: Measured::default(),
            places: Places {
                root,
                ..self.disk.places.clone()
            },
        }
    }

    pub(super) fn found(&self, name: &str) -> Finding {
        let mut all = examine(&self.patient()).into_iter();
        all.find(|finding| finding.name == name).unwrap()
    }

    /// Has this check find it bad, with these words.
    pub(super) fn is_bad(&self, name: &str, words: &str) {
        let found = self.found(name);
        assert_eq!(found.verdict, Verdict::Bad, "{found:?}");
        assert!(found.found.contains(words), "{found:?}");
        assert!(!found.fix.is_empty(), "{found:?}");
    }

    pub(super) fn block_device(&self) {
        let device = fs::metadata(self.disk.places.grubenv()).unwrap().dev();
        let node = self.kernel.path().join("sys/devices/sda2");
        fs::create_dir_all(&node).unwrap();
        let link = format!("sys/dev/block/{}:{}", major(device), minor(device));
        let link = self.kernel.path().join(link);
        fs::create_dir_all(link.parent().unwrap()).unwrap();
        symlink(node, link).unwrap();
    }

    pub(super) fn watchdog(&self) {
        let sys = self.kernel.path().join("sys");
        write(&sys.join("class/watchdog/watchdog0/identity"), "iTCO_wdt\n");
        write(
            &sys.join("module/watchdog/parameters/stop_on_reboot"),
            "0\n",
        );
    }

    pub(super) fn image(&self) {
        let text = r#"{"format":1,"kubernetes":"v1.36.3","architecture":"x86_64","stage":1}"#;
        write(&self.root().join(names::IMAGE_INFO), text);
        write(&self.root().join("usr/bin/kubelet"), "a program");
    }

    pub(super) fn units(&self) {
        let units = names::TABLE
            .iter()
            .filter(|row| row.kind == Kind::Unit && row.writer == "image");
        for unit in units {
            write(
                &self.root().join("usr/lib/systemd/system").join(unit.name),
                "",
            );
        }
    }

    pub(super) fn initramfs(&self, files: &[&str]) {
        let folder = self.disk.places.kernel(&deployment('a', 0));
        fs::write(folder.join("initramfs.img"), archive(files)).unwrap();
    }

    pub(super) fn remote(&self, keys: &str) {
        let text = format!("[remote \"site\"]\n{keys}");
        write(&self.root().join("etc/ostree/remotes.d/site.conf"), text);
    }

    pub(super) fn policy(&self, text: &str) {
        write(&self.patient().policy, text);
    }

    pub(super) fn credential(&self, user: &str, until: i32) {
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, user);
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(until, 1, 1);
        let certificate = params.self_signed(&key).unwrap().pem();
        let pem = self.root().join("var/kubelet.pem");
        write(&pem, format!("{}{certificate}", key.serialize_pem()));
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\nclusters: []\n\
             contexts: [{{ name: c, context: {{ cluster: k, user: u }} }}]\n\
             users: [{{ name: u, user: {{ client-certificate: {0}, client-key: {0} }} }}]\n",
            pem.display()
        );
        write(&self.patient().kubeconfig, text);
    }

    pub(super) fn record(&self, record: &Record) {
        let mut store = Store::new(&self.disk.places.sysroot);
        store.store(record).unwrap();
    }
}

//! The certificates and kubeconfigs that kubeadm renews while it raises.
//!
//! kubeadm writes each file in place and flushes none (`WriteKey` and `WriteCert` of client-go, and
//! `WriteToFile` of its clientcmd). So a power cut can leave a file empty or torn, or a new key
//! beside an old certificate. The copies are in /etc/kubernetes itself: keys are on no other file
//! system than before.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use upgrade::control_plane::raise::State;

use super::{Ledger, page};
use crate::error::{At, Result};
use crate::{durable, pair};

/// The folder of the copies, below /etc/kubernetes.
const COPIES: &str = "careen-before";

/// The folders in it.
const FOLDERS: [&str; 3] = ["", "pki", "pki/etcd"];

/// Certificates with their keys, without the ends of their names. An authority is never renewed.
const PAIRS: [&str; 7] = [
    "pki/apiserver",
    "pki/apiserver-kubelet-client",
    "pki/apiserver-etcd-client",
    "pki/front-proxy-client",
    "pki/etcd/server",
    "pki/etcd/peer",
    "pki/etcd/healthcheck-client",
];

/// Kubeconfigs with a certificate in them. The kubelet renews its own.
const KUBECONFIGS: [&str; 4] = [
    "admin.conf",
    "super-admin.conf",
    "controller-manager.conf",
    "scheduler.conf",
];

/// Files that are right only together: a certificate and its key, or one kubeconfig.
struct Credential(Vec<String>);

impl Credential {
    fn all() -> Vec<Self> {
        let pair = |name: &str| Self(vec![format!("{name}.crt"), format!("{name}.key")]);
        let one = |name: &str| Self(vec![name.to_owned()]);
        let pairs = PAIRS.into_iter().map(pair);
        pairs.chain(KUBECONFIGS.into_iter().map(one)).collect()
    }

    /// Its files in this folder. `None` if one does not exist: kubeadm takes none away, so a person
    /// has.
    fn read(&self, folder: &Path) -> Result<Option<Vec<Vec<u8>>>> {
        let read = |name: &String| page::bytes(&folder.join(name));
        self.0.iter().map(read).collect()
    }
}

/// Whether each file is whole, and the key belongs to the certificate.
fn is_whole(texts: &[Vec<u8>]) -> bool {
    match texts {
        [certificate, key] => pair::fits(certificate, key),
        [kubeconfig] => pair::fits_in(kubeconfig),
        _ => false,
    }
}

impl Ledger {
    /// Keeps each certificate and kubeconfig that kubeadm may renew and that is whole now.
    ///
    /// # Errors
    /// The copies may not be on the disk.
    pub(super) fn keep_credentials(&self) -> Result<()> {
        for credential in Credential::all() {
            let texts = credential.read(&self.kubernetes())?;
            if let Some(texts) = texts.filter(|texts| is_whole(texts)) {
                self.keep_files(&credential.0, &texts)?;
            }
        }
        Ok(())
    }

    fn keep_files(&self, names: &[String], texts: &[Vec<u8>]) -> Result<()> {
        let copies = self.copies();
        for folder in FOLDERS {
            durable::make_private_folder(&copies.join(folder))?;
        }
        for (name, text) in names.iter().zip(texts) {
            durable::write(&copies.join(name), text, 0o600)?;
        }
        Ok(())
    }

    /// The certificates and kubeconfigs that a cut has damaged and that can be written back. None
    /// unless the raise is under way: a person may change them then.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn damaged_credentials(&self) -> Result<Vec<String>> {
        let damaged = self.damaged()?;
        Ok(damaged
            .iter()
            .map(|(credential, _)| credential.0.join(", "))
            .collect())
    }

    /// Writes them back. Returns their names.
    ///
    /// # Errors
    /// A file could not be written.
    pub fn put_credentials_back(&self) -> Result<Vec<String>> {
        let mut done = Vec::new();
        for (credential, texts) in self.damaged()? {
            for (name, text) in credential.0.iter().zip(&texts) {
                write_over(&self.kubernetes().join(name), text)?;
            }
            done.push(credential.0.join(", "));
        }
        Ok(done)
    }

    /// Each damaged one, with the copy of its files.
    fn damaged(&self) -> Result<Vec<(Credential, Vec<Vec<u8>>)>> {
        let note = self.note()?;
        if note.is_none_or(|note| note.state != State::Raising) {
            return Ok(Vec::new());
        }
        let mut found = Vec::new();
        for credential in Credential::all() {
            let live = credential.read(&self.kubernetes())?;
            if live.is_none_or(|texts| is_whole(&texts)) {
                continue;
            }
            let copy = credential.read(&self.copies())?;
            if let Some(texts) = copy.filter(|texts| is_whole(texts)) {
                found.push((credential, texts));
            }
        }
        Ok(found)
    }

    /// Removes the copies. What is live is on the disk before.
    pub(super) fn forget_credentials(&self) -> Result<()> {
        if !self.copies().exists() {
            return Ok(());
        }
        for name in Credential::all().into_iter().flat_map(|one| one.0) {
            sync(&self.kubernetes().join(name))?;
        }
        durable::remove_folder(&self.copies())
    }

    /// /etc/kubernetes.
    fn kubernetes(&self) -> PathBuf {
        self.manifests
            .parent()
            .unwrap_or(&self.manifests)
            .to_owned()
    }

    fn copies(&self) -> PathBuf {
        self.kubernetes().join(COPIES)
    }
}

/// Writes in place, as kubeadm does, so that owner, mode and label stay. A cut in here leaves a
/// damaged file, and the next repair comes to it.
fn write_over(path: &Path, text: &[u8]) -> Result<()> {
    let mut options = OpenOptions::new();
    let mut file = options
        .write(true)
        .truncate(true)
        .open(path)
        .at("opening", path)?;
    file.write_all(text).at("writing", path)?;
    file.sync_all().at("syncing", path)
}

fn sync(path: &Path) -> Result<()> {
    match File::open(path).and_then(|file| file.sync_all()) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other.at("syncing", path),
    }
}

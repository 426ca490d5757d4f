//! The ledger of manifests: what the manifests of a control plane were before kubeadm raised it,
//! what they should become, and the last whole one at each place.
//!
//! It is on the physical root, so that it is there before /etc/kubernetes is mounted, and the same
//! for each deployment. `careen-control raise` writes it. Before each start of the kubelet
//! `careen-stage repair` writes a manifest back that a power cut has taken away, and a certificate
//! or kubeconfig that it has damaged.

mod credentials;
mod page;
mod write;

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use upgrade::control_plane::raise::{Note, State};
use upgrade::control_plane::repair::{Live, Page, Pages, Repair, repairs};
use upgrade::control_plane::{Component, EtcdVersion};
use upgrade::{UpgradeId, names};

use crate::error::{At, Error, Result};
use crate::{Places, durable};

/// The name of a ledger's folder, without the id of its upgrade.
const PREFIX: &str = "control-";

/// What is raised, and how far that is.
const NOTE: &str = "raise.json";

/// The newest version of this node's etcd that has served.
const SERVED: &str = "etcd-served";

/// The ledger of one upgrade.
#[derive(Clone, Debug)]
pub struct Ledger {
    folder: PathBuf,
    manifests: PathBuf,
}

impl Ledger {
    /// The ledger of this upgrade, which may not exist yet.
    #[must_use]
    pub fn of(places: &Places, id: &UpgradeId) -> Self {
        Self::at(places, places.state().join(format!("{PREFIX}{id}")))
    }

    fn at(places: &Places, folder: PathBuf) -> Self {
        let manifests = places.root.join(names::MANIFESTS.trim_start_matches('/'));
        Self { folder, manifests }
    }

    /// All ledgers on this node.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn all(places: &Places) -> Result<Vec<Self>> {
        let state = places.state();
        let entries = match fs::read_dir(&state) {
            Ok(entries) => entries,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error).at("reading", &state),
        };
        let is_ledger = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().as_encoded_bytes();
            name.starts_with(PREFIX.as_bytes()) && path.is_dir()
        };
        let paths = entries.flatten().map(|entry| entry.path());
        let mut all: Vec<_> = paths.filter(is_ledger).collect();
        all.sort();
        Ok(all.into_iter().map(|path| Self::at(places, path)).collect())
    }

    /// The ledger of the raise that is under way, and its note. Of several the one that began last.
    ///
    /// # Errors
    /// No raise is known to be under way, and a note cannot be read.
    pub fn under_way(places: &Places) -> Result<Option<(Self, Note)>> {
        let mut found: Option<(Self, Note)> = None;
        let mut unread = Ok(());
        for ledger in Self::all(places)? {
            match ledger.note() {
                Ok(Some(note)) if note.state == State::Raising => {
                    let is_later = found.as_ref().is_none_or(|(_, other)| other.at <= note.at);
                    found = if is_later {
                        Some((ledger, note))
                    } else {
                        found
                    };
                }
                Ok(Some(_) | None) => {}
                Err(error) => unread = Err(error),
            }
        }
        match found {
            Some(found) => Ok(Some(found)),
            None => unread.map(|()| None),
        }
    }

    /// Its folder.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The folder with the live manifests.
    #[must_use]
    pub fn manifests(&self) -> &Path {
        &self.manifests
    }

    /// The live manifest of a component.
    #[must_use]
    pub fn live(&self, component: Component) -> PathBuf {
        self.manifests.join(format!("{component}.yaml"))
    }

    /// What is raised. `None` if nothing has begun.
    ///
    /// # Errors
    /// The note cannot be read.
    pub fn note(&self) -> Result<Option<Note>> {
        let path = self.folder.join(NOTE);
        let Some(text) = page::bytes(&path)? else {
            return Ok(None);
        };
        let note = serde_json::from_slice(&text);
        note.map(Some)
            .map_err(|error| Error::damaged(&path, error.to_string()))
    }

    /// The newest etcd of this node that has served.
    ///
    /// # Errors
    /// That cannot be read.
    pub fn served(&self) -> Result<Option<EtcdVersion>> {
        let path = self.folder.join(SERVED);
        let Some(text) = page::bytes(&path)? else {
            return Ok(None);
        };
        let version = String::from_utf8_lossy(&text).trim().parse();
        version
            .map(Some)
            .map_err(|error: upgrade::control_plane::NotEtcd| {
                Error::damaged(&path, error.to_string())
            })
    }

    /// Each component: its live manifest, and the copies of it. A damaged copy counts as none.
    ///
    /// # Errors
    /// A file cannot be read.
    pub fn pages(&self) -> Result<BTreeMap<Component, Pages>> {
        let of = |component| Ok((component, self.pages_of(component)?));
        Component::ALL.into_iter().map(of).collect()
    }

    fn pages_of(&self, component: Component) -> Result<Pages> {
        let live = page::bytes(&self.live(component))?;
        let kept = |page| match self.copy(component, page) {
            Ok(None) | Err(Error::Damaged { .. }) => Ok(None),
            Ok(Some(text)) => page::kept(component, &text).map(Some),
            Err(error) => Err(error),
        };
        Ok(Pages {
            live: page::live(live.as_deref())?,
            before: kept(Page::Before)?,
            expected: kept(Page::Expected)?,
            last: kept(Page::Last)?,
        })
    }

    /// What must be written back now.
    ///
    /// # Errors
    /// The ledger cannot be read, or the folder of manifests is not there: then /etc/kubernetes is
    /// not mounted, and a manifest below the mount would be another copy.
    pub fn repairs(&self) -> Result<Vec<Repair>> {
        let raising = self
            .note()?
            .is_some_and(|note| note.state == State::Raising);
        if raising && !self.manifests.is_dir() {
            return Err(Error::damaged(&self.manifests, "it is not a folder"));
        }
        Ok(repairs(raising, self.served()?, &self.pages()?))
    }

    /// The components whose manifest is missing or empty.
    ///
    /// # Errors
    /// A manifest cannot be read.
    pub fn absent(&self) -> Result<Vec<Component>> {
        let pages = self.pages()?;
        let absent = pages
            .iter()
            .filter(|(_, pages)| matches!(pages.live, Live::Missing | Live::Empty));
        Ok(absent.map(|(component, _)| *component).collect())
    }

    /// What kubeadm was to write for a component. `None` if the raise left it as it was.
    ///
    /// # Errors
    /// The copy cannot be read, or it is damaged.
    pub fn expected(&self, component: Component) -> Result<Option<Vec<u8>>> {
        self.copy(component, Page::Expected)
    }

    fn copy(&self, component: Component, page: Page) -> Result<Option<Vec<u8>>> {
        page::read(&self.path(component, page))
    }

    fn path(&self, component: Component, page: Page) -> PathBuf {
        let folder = self.folder.join(page.folder());
        folder.join(format!("{component}.yaml"))
    }

    fn put(&self, name: &str, content: &[u8]) -> Result<()> {
        durable::write(&self.folder.join(name), content, 0o600)
    }
}

//! What is written: into the ledger while kubeadm works, and out of it after a cut.

use std::fs::File;
use std::path::Path;

use upgrade::control_plane::raise::{Note, State};
use upgrade::control_plane::repair::{Page, Repair, may_follow};
use upgrade::control_plane::{Component, EtcdVersion};

use super::{Ledger, NOTE, SERVED, page};
use crate::durable;
use crate::error::{At, Error, Result};

impl Ledger {
    /// Makes the ledger's folder, and keeps all live manifests as those from before.
    ///
    /// # Errors
    /// The copies may not be on the disk.
    pub fn begin(&self) -> Result<()> {
        // What an earlier raise may have left there is no copy of today's.
        self.forget_credentials()?;
        durable::make_private_folder(&self.folder)?;
        for page in Page::ALL {
            durable::make_private_folder(&self.folder.join(page.folder()))?;
        }
        for component in Component::ALL {
            durable::remove(&self.path(component, Page::Expected))?;
            match page::bytes(&self.live(component))? {
                Some(text) => self.keep_first(component, &text)?,
                None => self.keep_none(component)?,
            }
        }
        Ok(())
    }

    fn keep_first(&self, component: Component, text: &[u8]) -> Result<()> {
        self.keep(component, Page::Before, text)?;
        self.keep(component, Page::Last, text)
    }

    fn keep_none(&self, component: Component) -> Result<()> {
        durable::remove(&self.path(component, Page::Before))?;
        durable::remove(&self.path(component, Page::Last))
    }

    /// Notes what is raised and how far that is. With [`State::Raising`] manifests, certificates
    /// and kubeconfigs are repaired from now on: copies of the last two are there until it is over.
    ///
    /// # Errors
    /// The note may be lost in a power cut.
    pub fn set(&self, note: &Note) -> Result<()> {
        match note.state {
            State::Raising => self.keep_credentials()?,
            State::Over => self.forget_credentials()?,
        }
        let text = serde_json::to_vec(note);
        let text = text.map_err(|error| Error::damaged(&self.folder.join(NOTE), error.to_string()));
        self.put(NOTE, &text?)
    }

    /// Notes that the raise is over.
    ///
    /// # Errors
    /// It may still count as under way after a power cut.
    pub fn close(&self) -> Result<()> {
        match self.note()? {
            Some(note) if note.state == State::Raising => self.set(&Note {
                state: State::Over,
                ..note
            }),
            Some(_) | None => Ok(()),
        }
    }

    /// Keeps what kubeadm is to write.
    ///
    /// # Errors
    /// The copy may not be on the disk.
    pub fn expect(&self, component: Component, text: &[u8]) -> Result<()> {
        self.keep(component, Page::Expected, text)
    }

    /// Notes that this etcd has served, unless a newer one has.
    ///
    /// # Errors
    /// The note may be lost in a power cut.
    pub fn has_served(&self, version: EtcdVersion) -> Result<()> {
        match self.served()? {
            Some(newer) if newer >= version => Ok(()),
            Some(_) | None => self.put(SERVED, version.to_string().as_bytes()),
        }
    }

    /// Flushes the live manifest, and keeps it as the last whole one. A manifest that is not whole
    /// is left to the repair.
    ///
    /// # Errors
    /// It may not be on the disk.
    pub fn follow(&self, component: Component) -> Result<()> {
        let path = self.live(component);
        let Some(text) = page::bytes(&path)?.filter(|text| !text.is_empty()) else {
            return Ok(());
        };
        let pages = self.pages_of(component)?;
        let now = page::kept(component, &text)?;
        let is_known = [&pages.before, &pages.expected].contains(&&Some(now.clone()));
        if !is_known && !page::is_whole(&text) {
            return Ok(());
        }
        sync(&path)?;
        durable::sync_folder(&self.manifests)?;
        let is_new = pages.last.as_ref() != Some(&now);
        match is_new && may_follow(component, &now, self.served()?) {
            true => self.keep(component, Page::Last, &text),
            false => Ok(()),
        }
    }

    /// Writes back what a cut has taken. Returns what was wrong; where no copy may be written, the
    /// file is as it was.
    ///
    /// # Errors
    /// A manifest could not be written.
    pub fn repair(&self) -> Result<Vec<Repair>> {
        let repairs = self.repairs()?;
        for repair in &repairs {
            let Some(page) = repair.with else { continue };
            if let Some(text) = self.copy(repair.component, page)? {
                self.write_back(repair.component, &text)?;
            }
        }
        Ok(repairs)
    }

    /// A new file with a name that the kubelet does not read, which then gets the manifest's name.
    fn write_back(&self, component: Component, text: &[u8]) -> Result<()> {
        let new = self.manifests.join(format!(".{component}.yaml.careen"));
        durable::write_plain(&new, text, 0o600)?;
        durable::rename(&new, &self.live(component))
    }

    fn keep(&self, component: Component, page: Page, text: &[u8]) -> Result<()> {
        let content = page::with_head(text)?;
        durable::write(&self.path(component, page), &content, 0o600)
    }
}

fn sync(path: &Path) -> Result<()> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .at("syncing", path)
}

//! Which manifests must be written again after an upgrade of a control plane was cut.
//!
//! kubeadm moves a manifest away and another one in. It flushes neither, so a power cut leaves a
//! file that is missing, empty or torn, and a node that kubeadm then takes for a worker. The ledger
//! keeps each manifest that was complete in the folder, and this function decides which one is
//! written back.

use std::collections::BTreeMap;
use std::fmt;

use super::component::Component;
use super::etcd::EtcdVersion;
use crate::id::Digest;

/// A whole manifest in the ledger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The SHA-256 of its bytes.
    pub digest: Digest,
    /// The etcd that it starts. `None` for another component, or if its image does not say it.
    pub etcd: Option<EtcdVersion>,
}

/// What is at the place of a manifest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Live {
    /// No file.
    Missing,
    /// A file without content.
    Empty,
    /// A file with this SHA-256.
    Text(Digest),
}

/// One component: its live manifest, and what the ledger has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pages {
    /// What is at its place.
    pub live: Live,
    /// What was there before kubeadm began.
    pub before: Option<Kept>,
    /// What kubeadm was to write.
    pub expected: Option<Kept>,
    /// The last whole one that was at its place.
    pub last: Option<Kept>,
}

/// A copy in the ledger.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Page {
    /// See [`Pages::before`].
    Before,
    /// See [`Pages::expected`].
    Expected,
    /// See [`Pages::last`].
    Last,
}

impl Page {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Before, Self::Expected, Self::Last];

    /// The name of its folder in the ledger.
    #[must_use]
    pub const fn folder(self) -> &'static str {
        match self {
            Self::Before => "before",
            Self::Expected => "expected",
            Self::Last => "last",
        }
    }
}

/// Why a manifest must be written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It does not exist.
    Missing,
    /// It is empty.
    Empty,
    /// It equals no copy of the ledger: it is torn, or somebody changed it.
    Unknown,
    /// It starts an etcd of an older minor than the one that has served.
    OlderEtcd,
}

impl Fault {
    /// For a sentence that begins with the file.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Missing => "does not exist",
            Self::Empty => "is empty",
            Self::Unknown => "equals no copy that was kept",
            Self::OlderEtcd => "starts an etcd of an older minor than the one that has served",
        }
    }
}

/// One manifest that must be written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repair {
    /// Whose.
    pub component: Component,
    /// Why.
    pub fault: Fault,
    /// The copy to write. `None` if none may be written: a person must look.
    pub with: Option<Page>,
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (component, fault) = (self.component, self.fault.words());
        match self.with {
            Some(page) => {
                let folder = page.folder();
                write!(
                    f,
                    "{component}.yaml {fault}: the copy in {folder}/ is written back"
                )
            }
            None => write!(
                f,
                "{component}.yaml {fault}: no copy in the ledger may be written back. \
                 Put the manifest there by hand."
            ),
        }
    }
}

/// All manifests that must be written again. Nothing while no raise is under way, because then a
/// person may change manifests. `served` is the newest etcd of this node that has served.
#[must_use]
pub fn repairs(
    raising: bool,
    served: Option<EtcdVersion>,
    all: &BTreeMap<Component, Pages>,
) -> Vec<Repair> {
    if !raising {
        return Vec::new();
    }
    let of = |(component, pages): (&Component, &Pages)| {
        let judge = Judge {
            component: *component,
            served,
        };
        judge.repair(pages)
    };
    all.iter().filter_map(of).collect()
}

/// Whether this manifest may become the last one that is kept. kubeadm's own way back may have put
/// an older etcd there.
#[must_use]
pub fn may_follow(component: Component, kept: &Kept, served: Option<EtcdVersion>) -> bool {
    Judge { component, served }.may_run(kept)
}

struct Judge {
    component: Component,
    served: Option<EtcdVersion>,
}

impl Judge {
    fn repair(&self, pages: &Pages) -> Option<Repair> {
        // A component that the ledger has never seen is not this node's.
        pages.copies().next()?;
        let fault = self.fault(pages)?;
        let mut usable = pages.copies().filter(|(_, kept)| self.may_run(kept));
        Some(Repair {
            component: self.component,
            fault,
            with: usable.next().map(|(page, _)| page),
        })
    }

    fn fault(&self, pages: &Pages) -> Option<Fault> {
        let digest = match &pages.live {
            Live::Missing => return Some(Fault::Missing),
            Live::Empty => return Some(Fault::Empty),
            Live::Text(digest) => digest,
        };
        let known = pages.copies().find(|(_, kept)| kept.digest == *digest);
        match known {
            None => Some(Fault::Unknown),
            Some((_, kept)) => (!self.may_run(kept)).then_some(Fault::OlderEtcd),
        }
    }

    /// An older etcd does not read data that a newer minor has raised.
    fn may_run(&self, kept: &Kept) -> bool {
        match (self.component, self.served) {
            (Component::ApiServer | Component::ControllerManager | Component::Scheduler, _)
            | (Component::Etcd, None) => true,
            (Component::Etcd, Some(served)) => {
                kept.etcd.is_some_and(|etcd| etcd.line() >= served.line())
            }
        }
    }
}

impl Pages {
    /// The copies, the best one first: what has run last, then what was to run, then what ran
    /// first.
    fn copies(&self) -> impl Iterator<Item = (Page, &Kept)> {
        let all = [
            (Page::Last, &self.last),
            (Page::Expected, &self.expected),
            (Page::Before, &self.before),
        ];
        all.into_iter()
            .filter_map(|(page, kept)| Some((page, kept.as_ref()?)))
    }

    /// Whether a whole manifest other than the first one has been at its place.
    #[must_use]
    pub fn is_swapped(&self) -> bool {
        let digest = |kept: &Option<Kept>| kept.as_ref().map(|kept| kept.digest.clone());
        digest(&self.last) != digest(&self.before)
    }
}

#[cfg(test)]
mod tests;

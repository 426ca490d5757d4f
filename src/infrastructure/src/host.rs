//! A host, as its CareenHost shows it.

use std::collections::BTreeMap;

use crate::claim::Claim;
use life::Phase;

/// A CareenHost. What the host itself writes is its word: only the progress of its own claim is
/// decided by it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Host {
    /// Its name.
    pub name: String,
    /// Its labels, which come from its registration or a person.
    pub labels: BTreeMap<String, String>,
    /// It is deleted, and our finalizer holds it.
    pub deleting: bool,
    /// It has our finalizer.
    pub finalizer: bool,
    /// The HostRegistration that it came with.
    pub registration: String,
    /// Where it looks for a token when it has none that is good.
    pub handover: Option<String>,
    /// A person or the registration lets it in.
    pub approved: bool,
    /// It is never chosen.
    pub cordoned: bool,
    /// Only the control plane of this Cluster may have it.
    pub reserved_for: Option<String>,
    /// Its failure domain.
    pub failure_domain: Option<String>,
    /// The claim on it.
    pub claim: Option<Claim>,
    /// A person says that the host of this claim is off.
    pub forced: Option<String>,
    /// At the first look at an orphan: the id of its claim, and when.
    pub orphan_seen: Option<(String, i64)>,
    /// The second look has named it an orphan of this claim.
    pub orphan: Option<String>,
    /// Its phase.
    pub phase: Phase,
    /// What it does within the phase.
    pub step: Option<String>,
    /// Why it failed.
    pub reason: Option<String>,
    /// The claim that its phase belongs to.
    pub observed: Option<String>,
    /// Its host name.
    pub hostname: String,
    /// Its first internal address.
    pub address: Option<String>,
    /// For example `amd64`.
    pub architecture: Option<String>,
    /// What it has: `cpu`, `memory` and others.
    pub capacity: BTreeMap<String, String>,
    /// The image that it runs.
    pub image: Option<String>,
    /// Its boot loader can change the image.
    pub loader_fit: bool,
    /// When its Lease was last seen to change, or when careen-provider first looked at it. It is
    /// our own time, in seconds since 1970, and not that of the host.
    pub heard: i64,
    /// Its Lease was seen to change, or said at the first look that it had just been renewed.
    pub renewed: bool,
}

impl Host {
    /// The claim of this id, if it is on this host.
    #[must_use]
    pub fn claim_of(&self, id: &str) -> Option<&Claim> {
        self.claim.as_ref().filter(|claim| claim.id == id)
    }

    /// Whether the host has said that the kubelet of this claim cannot come back. A claim that has
    /// ended never begins again, so that an old status says nothing wrong.
    #[must_use]
    pub fn is_fenced(&self, id: &str) -> bool {
        self.observes(id) && self.phase.is_fenced()
    }

    /// Whether a person says that the host of this claim is off.
    #[must_use]
    pub fn is_forced(&self, id: &str) -> bool {
        self.forced.as_deref() == Some(id)
    }

    /// Whether the host serves a claim, and it is another than this.
    #[must_use]
    pub fn serves_another(&self, id: &str) -> bool {
        self.observed.is_some() && !self.observes(id) && self.phase.serves()
    }

    /// Whether the host has taken up this claim.
    #[must_use]
    pub fn observes(&self, id: &str) -> bool {
        self.observed.as_deref() == Some(id)
    }

    /// For how many seconds its Lease was not seen to change.
    #[must_use]
    pub const fn silent(&self, now: i64) -> i64 {
        now.saturating_sub(self.heard)
    }

    /// Whether its Lease was renewed within this time.
    #[must_use]
    pub const fn is_alive(&self, now: i64, within: i64) -> bool {
        self.renewed && self.silent(now) < within
    }
}

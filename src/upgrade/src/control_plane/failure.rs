//! What could not be read or asked, as a sentence.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::survey::Source;
use super::text::Detail;

/// Something that a verb needed and did not get.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// What.
    pub source: Source,
    /// Why.
    pub why: Detail,
}

impl Failure {
    /// This source failed for this reason.
    #[must_use]
    pub fn new(source: Source, why: impl Into<Detail>) -> Self {
        let why = why.into();
        Self { source, why }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&told(self.source, &self.why))
    }
}

/// The sentence: what was not read, why, and what to do.
pub(super) fn told(source: Source, why: &Detail) -> String {
    let (what, action) = words(source);
    let why = why.as_str().trim_end_matches('.');
    format!("{what}: {why}. {action}.")
}

const fn words(source: Source) -> (&'static str, &'static str) {
    match source {
        Source::Credential => (
            "a credential of this control plane cannot be used",
            "Run `kubeadm certs check-expiration` on this node",
        ),
        Source::Api => (
            "a request to the API server failed",
            "Check the API server, then try again",
        ),
        Source::Endpoint => (
            "the API server of this node answers, and the address in admin.conf does not",
            "Check the load balancer or the virtual address",
        ),
        Source::Etcd => (
            "a request to etcd failed",
            "Do not delete its data; look at its log first",
        ),
        Source::Manifest => (
            "a manifest cannot be read",
            "Correct it, or write it again with kubeadm",
        ),
        Source::Certificate => ("a certificate cannot be read", "Check that file"),
        Source::Room => (
            "the free room on a file system is not known",
            "Check it with `df -h`, and the disk with `journalctl -k`",
        ),
        Source::Kubeadm => ("a run of kubeadm failed", "Run it by hand to see why"),
        Source::Runtime => (
            "a request to the container runtime failed",
            "Check its unit, and compare `crictl images` with `kubeadm config images list`",
        ),
        Source::Archive => (
            "an archive of container images in the new system cannot be read",
            "Build the system without it, or write it again with `ctr images export`",
        ),
    }
}

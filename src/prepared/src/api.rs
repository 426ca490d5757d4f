//! The management cluster, as a host uses it: five requests, each to an object of its own.

use life::{Claim, ClaimId};
use serde_json::Value;

/// What a CareenHost says to its host.
#[derive(Clone, Debug, Default)]
pub struct Own {
    /// The claim; an error if the host cannot understand it.
    pub claim: Option<Result<Claim, String>>,
    /// The failure domain.
    pub failure_domain: Option<String>,
    /// The status, as the API server shows it. A server that was restored may have lost what the
    /// host said last.
    pub status: Value,
}

/// The requests. An error is no order: it says nothing about the claim.
pub trait Api {
    /// Makes sure that the host has a credential of its own, and registers it if it has none.
    ///
    /// # Errors
    /// It has none yet.
    fn credential(&mut self) -> Result<(), String>;
    /// Reads the host's own CareenHost.
    ///
    /// # Errors
    /// It was not read.
    fn own(&mut self) -> Result<Own, String>;
    /// Reads the bootstrap data in the host's own Secret, and the claim that they belong to.
    ///
    /// # Errors
    /// They were not read.
    fn data(&mut self) -> Result<Option<(ClaimId, String)>, String>;
    /// Writes the status of the CareenHost.
    ///
    /// # Errors
    /// It was not written.
    fn say(&mut self, status: &Value) -> Result<(), String>;
    /// Renews the host's own Lease.
    ///
    /// # Errors
    /// It was not renewed.
    fn renew(&mut self) -> Result<(), String>;
}

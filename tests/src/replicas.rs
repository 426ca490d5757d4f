//! Two replicas that replace the single careen-provider of a world, as its release runs them. They
//! share one Lease, one certificate, and one address at which either may answer.

use anyhow::Result;

use crate::provider_process::ProviderProcess;
use crate::replica::Replica;

/// Both replicas. A drop kills them and starts the single provider again.
pub struct Replicas<'a> {
    leader: Option<Replica>,
    /// The replica that did not lead at first.
    pub other: Replica,
    // This field comes after both replicas, because the single provider acts immediately, even if
    // another leads.
    _back: Back<'a>,
}

impl<'a> Replicas<'a> {
    /// Kills the single provider and starts both replicas. Returns when one of them leads and both
    /// are ready for calls.
    ///
    /// # Errors
    /// When they do not reach that state.
    pub async fn in_place_of(provider: &'a ProviderProcess) -> Result<Self> {
        provider.kill()?;
        let back = Back(provider);
        let leader = provider.replica("first").await?;
        leader.until_it_leads().await?;
        let other = provider.replica("second").await?;
        let ports = [&leader, &other].map(|one| one.addresses.hooks.port());
        provider.wire.lead_to(&ports);
        Ok(Self {
            leader: Some(leader),
            other,
            _back: back,
        })
    }

    /// Kills the leader, as SIGKILL would: it does not release its Lease.
    pub fn kill_the_leader(&mut self) {
        self.leader = None;
    }
}

/// Starts the earlier provider again.
struct Back<'a>(&'a ProviderProcess);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.wire.lead_to(&[self.0.port()]);
        if let Err(error) = self.0.start_again() {
            eprintln!("careen-provider does not start again: {error:#}");
        }
    }
}

//! Two replicas in the place of a world's one careen-provider, as its release has them: one Lease, one certificate, and one address at
//! which either may answer.

use anyhow::Result;

use crate::provider_process::ProviderProcess;
use crate::replica::Replica;

/// Both. Dropped, they are killed, and the one is back.
pub struct Replicas<'a> {
    leader: Option<Replica>,
    /// The one that did not lead at first.
    pub other: Replica,
    // Behind both, for it begins to act at once, whoever leads.
    _back: Back<'a>,
}

impl<'a> Replicas<'a> {
    /// Kills the one, and starts both; returns when one of them leads and both are ready to be called.
    ///
    /// # Errors
    /// When they do not come to that.
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

    /// Kills the one that leads, as SIGKILL would: it does not give its Lease back.
    pub fn kill_the_leader(&mut self) {
        self.leader = None;
    }
}

/// Brings back the one that was there before.
struct Back<'a>(&'a ProviderProcess);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        self.0.wire.lead_to(&[self.0.port()]);
        if let Err(error) = self.0.start_again() {
            eprintln!("careen-provider does not start again: {error:#}");
        }
    }
}

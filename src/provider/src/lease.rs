//! Leader election: one holder of a Lease at a time. Only the leader sends requests to nodes and
//! does work that nobody called for. Every replica answers hooks.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::sync::watch;
use tokio::time::Instant;
use tracing::{debug, info};

use crate::names;
use crate::writes::{WriteError, limited};

/// How long a silent holder still counts as the leader. Kubernetes' own components use the same
/// value.
const DURATION: Duration = Duration::from_secs(15);

/// How often the holder renews the Lease, and how often the others look.
const RENEW: Duration = Duration::from_secs(3);

/// The timeout of one try. A holder whose tries hang must notice before the others take over.
const PATIENCE: Duration = Duration::from_secs(4);

/// A holder that could not renew for this long stops leading. This is shorter than the time that
/// the others wait.
const SURE: Duration = Duration::from_secs(10);

/// How long a new leader waits before it acts. In that time the last writes of the previous leader
/// arrive through the watches.
const SETTLE: Duration = Duration::from_secs(1);

/// The Lease, and the identity of this process.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The Lease's namespace.
    pub namespace: String,
    /// The Lease's name.
    pub name: String,
    /// Unique to this process.
    pub identity: String,
}

/// What was seen of another holder's Lease. Its age is measured by the local clock since the last
/// observed change, never by the holder's clock.
struct Seen {
    version: String,
    at: Instant,
}

/// The namespace of the provider that core calls instead of this one.
pub type Rival = Option<String>;

/// Whether this process leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lead {
    /// There is no election.
    Always,
    /// Another process leads, or none.
    No,
    /// This process leads until this instant, unless it renews the Lease. A process that was
    /// stopped for longer does not take itself for the leader when it continues.
    Until(Instant),
}

impl Lead {
    /// Whether this process leads now.
    #[must_use]
    pub fn holds(self) -> bool {
        self.holds_at(Instant::now())
    }

    fn holds_at(self, now: Instant) -> bool {
        match self {
            Self::Always => true,
            Self::No => false,
            Self::Until(end) => now < end,
        }
    }

    const fn until(end: Instant, holds: bool) -> Self {
        match holds {
            true => Self::Until(end),
            false => Self::No,
        }
    }

    /// Whether the leadership begins or ends with this. A renewal is no news.
    fn becomes(&mut self, next: Self) -> bool {
        let before = std::mem::replace(self, next);
        (before == Self::No) != (next == Self::No)
    }
}

/// Tries to acquire the Lease for ever. `leads` shows whether this process holds it. At `stop` the
/// process releases the Lease, so that the next holder does not wait. While core calls the provider
/// of another package, no process of this one leads.
pub async fn run(
    client: Client,
    candidate: Candidate,
    leads: watch::Sender<Lead>,
    rival: watch::Receiver<Rival>,
    stop: impl Future<Output = ()>,
) {
    let leases: Api<Lease> = Api::namespaced(client, &candidate.namespace);
    let mut seen = None;
    let mut sure_until = Instant::now();
    let mut stop = std::pin::pin!(stop);
    loop {
        // Taken before the request: the server may write long before its answer arrives, and the
        // other replicas count from the write.
        let begun = Instant::now();
        let is_called = rival.borrow().is_none();
        let tried = async {
            match is_called {
                true => attempt(&leases, &candidate, &mut seen).await,
                false => Ok(false),
            }
        };
        match tokio::time::timeout(PATIENCE, tried).await {
            Ok(Ok(true)) => sure_until = begun + SURE,
            Ok(Ok(false)) => sure_until = begun,
            Ok(Err(error)) => debug!("cannot renew the Lease: {error}"),
            Err(_) => debug!("cannot renew the Lease within {PATIENCE:?}"),
        }
        let now_leads = Instant::now() < sure_until;
        if now_leads && *leads.borrow() == Lead::No {
            tokio::time::sleep(SETTLE).await;
        }
        if leads.send_if_modified(|lead| lead.becomes(Lead::until(sure_until, now_leads))) {
            info!(leads = now_leads, "leadership");
        }
        tokio::select! {
            () = tokio::time::sleep(RENEW) => {}
            () = &mut stop => break,
        }
    }
    if leads.send_replace(Lead::No) != Lead::No {
        let _ = release(&leases, &candidate).await;
    }
}

async fn attempt(
    leases: &Api<Lease>,
    candidate: &Candidate,
    seen: &mut Option<Seen>,
) -> Result<bool, WriteError> {
    let mut lease = match limited(leases.get(&candidate.name)).await {
        Ok(lease) => lease,
        Err(WriteError::Missing) => return create(leases, candidate).await,
        Err(error) => return Err(error),
    };
    let spec = lease.spec.clone().unwrap_or_default();
    let holder = spec.holder_identity.as_deref().unwrap_or_default();
    if !holder.is_empty() && holder != candidate.identity && !has_run_out(&lease, seen) {
        return Ok(false);
    }
    let taken = holder != candidate.identity;
    lease.spec = Some(held(candidate, &spec, taken));
    match limited(leases.replace(&candidate.name, &PostParams::default(), &lease)).await {
        Ok(_) => Ok(true),
        Err(WriteError::Conflict) => Ok(false),
        Err(error) => Err(error),
    }
}

fn has_run_out(lease: &Lease, seen: &mut Option<Seen>) -> bool {
    let version = lease.metadata.resource_version.clone().unwrap_or_default();
    match seen {
        Some(seen) if seen.version == version => seen.at.elapsed() > DURATION,
        _ => {
            *seen = Some(Seen {
                version,
                at: Instant::now(),
            });
            false
        }
    }
}

fn held(candidate: &Candidate, old: &LeaseSpec, taken: bool) -> LeaseSpec {
    let now = Some(MicroTime(Timestamp::now()));
    LeaseSpec {
        holder_identity: Some(candidate.identity.clone()),
        lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
        acquire_time: if taken {
            now.clone()
        } else {
            old.acquire_time.clone()
        },
        renew_time: now,
        lease_transitions: Some(
            old.lease_transitions
                .unwrap_or(0)
                .saturating_add(i32::from(taken)),
        ),
        ..LeaseSpec::default()
    }
}

async fn create(leases: &Api<Lease>, candidate: &Candidate) -> Result<bool, WriteError> {
    let lease = Lease {
        metadata: ObjectMeta {
            name: Some(candidate.name.clone()),
            ..ObjectMeta::default()
        },
        spec: Some(held(candidate, &LeaseSpec::default(), true)),
    };
    let params = PostParams {
        field_manager: Some(names::MANAGER.to_owned()),
        ..PostParams::default()
    };
    match limited(leases.create(&params, &lease)).await {
        Ok(_) => Ok(true),
        Err(WriteError::Conflict) => Ok(false),
        Err(error) => Err(error),
    }
}

async fn release(leases: &Api<Lease>, candidate: &Candidate) -> Result<(), WriteError> {
    let mut lease = limited(leases.get(&candidate.name)).await?;
    if let Some(spec) = lease.spec.as_mut()
        && spec.holder_identity.as_deref() == Some(candidate.identity.as_str())
    {
        spec.holder_identity = None;
        limited(leases.replace(&candidate.name, &PostParams::default(), &lease)).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leader_that_was_stopped_past_its_lease_does_not_lead() {
        let begun = Instant::now();
        let lead = Lead::until(begun + SURE, true);
        assert!(lead.holds_at(begun + RENEW));
        // Nothing that would renew or end the leadership has run meanwhile.
        assert!(!lead.holds_at(begun + SURE));
    }

    #[test]
    fn renewal_moves_the_end_and_wakes_nobody() {
        let begun = Instant::now();
        let (leads, mut seen) = watch::channel(Lead::No);
        let renew =
            |at: Instant| leads.send_if_modified(|lead| lead.becomes(Lead::until(at + SURE, true)));
        assert!(renew(begun));
        seen.mark_unchanged();
        assert!(!renew(begun + RENEW));
        assert_eq!(seen.has_changed().ok(), Some(false));
        assert!(seen.borrow().holds_at(begun + SURE));
    }
}

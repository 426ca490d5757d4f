//! Takes and releases the lock of the control plane.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use upgrade::UpgradeId;
use upgrade::control_plane::{
    Claim, Failure, Held, Holder, Lock, Locking, Source, Taken, Unlocking, claim,
};

use crate::folder::Folder;
use crate::lease;
use crate::leases::{Leases, Wrote};
use crate::node::{self, NoControlPlane};

/// How long all of it may take. An address that does not answer takes a third of it.
const PATIENCE: Duration = Duration::from_secs(30);

/// How often others may change the lock between a look and a write.
const ROUNDS: u32 = 8;

/// Takes the lock for this upgrade of this node, and reads it back.
///
/// # Errors
/// This is no control-plane node.
pub async fn lock(folder: &Folder, id: &UpgradeId, now: u64) -> Result<Locking, NoControlPlane> {
    node::check(folder)?;
    let taken = async {
        let (me, leases) = begin(folder, id).await?;
        take(&me, &leases, now).await
    };
    let taken = tokio::time::timeout(PATIENCE, taken).await;
    Ok(taken
        .unwrap_or_else(|_| Err(late()))
        .unwrap_or_else(Locking::Failed))
}

/// Removes the lock if this upgrade of this node holds it.
///
/// # Errors
/// This is no control-plane node.
pub async fn unlock(folder: &Folder, id: &UpgradeId) -> Result<Unlocking, NoControlPlane> {
    node::check(folder)?;
    let released = async {
        let (me, leases) = begin(folder, id).await?;
        release(me, &leases).await
    };
    let released = tokio::time::timeout(PATIENCE, released).await;
    Ok(released
        .unwrap_or_else(|_| Err(late()))
        .unwrap_or_else(Unlocking::Failed))
}

async fn begin(folder: &Folder, id: &UpgradeId) -> Result<(Holder, Leases), Failure> {
    let me = Holder::new(&node::name(folder), id.clone());
    let me = me.map_err(|error| Failure::new(Source::Certificate, error.to_string()))?;
    Ok((me, Leases::open(folder).await?))
}

/// Each round reads the lock, so the round after a write reads it back.
async fn take(me: &Holder, leases: &Leases, now: u64) -> Result<Locking, Failure> {
    let mut taken = Taken::Before;
    for _ in 0..ROUNDS {
        let lease = leases.read().await?;
        let held = lease.as_ref().map_or(Held::Free, lease::held);
        let news = leases.news(me, &held).await?;
        let how = match claim(me, &held, &news) {
            Claim::Ours => return Ok(locked(me, lease.as_ref(), taken)),
            Claim::Held => return Ok(busy(&held, lease.as_ref(), now)),
            Claim::Free => Taken::Free,
            Claim::Stale(because) => Taken::Over {
                from: held.name().unwrap_or_default(),
                because,
            },
        };
        if leases.write(lease, me, now).await? == Wrote::Yes {
            taken = how;
        }
    }
    Err(restless())
}

fn locked(me: &Holder, lease: Option<&Lease>, taken: Taken) -> Locking {
    Locking::Locked {
        holder: me.clone(),
        since: since(lease),
        taken,
    }
}

fn busy(held: &Held, lease: Option<&Lease>, now: u64) -> Locking {
    let since = since(lease);
    Locking::Busy {
        holder: held.name().unwrap_or_default(),
        since,
        passed: since.map(|since| now.saturating_sub(since)),
    }
}

fn since(lease: Option<&Lease>) -> Option<u64> {
    let Lock { since, .. } = lease::lock(lease?)?;
    since
}

async fn release(me: Holder, leases: &Leases) -> Result<Unlocking, Failure> {
    for _ in 0..ROUNDS {
        let Some(lease) = leases.read().await? else {
            return Ok(Unlocking::Absent);
        };
        let holder = match lease::held(&lease) {
            Held::Free => return Ok(Unlocking::Absent),
            Held::By(holder) if holder == me => None,
            held @ (Held::By(_) | Held::Somebody(_)) => held.name(),
        };
        if let Some(holder) = holder {
            return Ok(Unlocking::Others { holder });
        }
        if leases.remove(&lease).await? == Wrote::Yes {
            return Ok(Unlocking::Released { holder: me });
        }
    }
    Err(restless())
}

fn late() -> Failure {
    Failure::new(
        Source::Api,
        format!("no answer in {} s", PATIENCE.as_secs()),
    )
}

fn restless() -> Failure {
    Failure::new(
        Source::Api,
        format!("somebody else changed the lock in each of {ROUNDS} tries"),
    )
}

//! What is under way, and since when. A restart forgets it, so that no time is counted of which the
//! beginning was not seen.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use infrastructure::{Host, Phase, Wanted, Why};

use crate::machines::Key;
use crate::metrics::{Operation, is_trouble};

/// What is under way.
#[derive(Default)]
pub struct Spans(Mutex<State>);

#[derive(Default)]
struct State {
    hosts: HashMap<Key, (Option<Operation>, Option<Instant>)>,
    claims: HashMap<Key, Instant>,
    troubles: HashMap<Key, &'static str>,
    pools: HashMap<Key, PoolSpan>,
}

/// The upgrade of a pool.
struct PoolSpan {
    since: Instant,
    updates: HashMap<String, Instant>,
}

impl Spans {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A host has changed. Returns the operation that has succeeded, and how long it took.
    pub fn host(&self, key: &Key, host: &Host, now: Instant) -> Option<(Operation, Duration)> {
        let what = under_way(host);
        let mut state = self.state();
        let before = state.hosts.get(key).copied();
        if before.is_some_and(|(was, _)| was == what) {
            return None;
        }
        // The beginning of what was under way at the first look is not known.
        let begins = before.map(|_| now);
        state.hosts.insert(key.clone(), (what, begins));
        let (was, since) = before?;
        let was = was.filter(|was| has_succeeded(*was, host))?;
        Some((was, now - since?))
    }

    /// A host is gone.
    pub fn forget_host(&self, key: &Key) {
        self.state().hosts.remove(key);
    }

    /// A machine waits for a host.
    pub fn claim_begins(&self, machine: &Key, now: Instant) {
        let mut state = self.state();
        state.claims.entry(machine.clone()).or_insert(now);
    }

    /// Its host has the claim.
    pub fn claim_ends(&self, machine: &Key, now: Instant) -> Option<Duration> {
        let since = self.state().claims.remove(machine)?;
        Some(now - since)
    }

    /// Whether a machine meets a trouble that it did not have at the look before.
    pub fn is_new_trouble(&self, machine: &Key, why: &Why) -> bool {
        let mut state = self.state();
        if !is_trouble(why.class()) {
            // A machine that is about to move on may still have it.
            if *why != Why::Moving {
                state.troubles.remove(machine);
            }
            return false;
        }
        state.troubles.insert(machine.clone(), why.code()) != Some(why.code())
    }

    /// A machine is gone.
    pub fn forget_machine(&self, machine: &Key) {
        let mut state = self.state();
        state.claims.remove(machine);
        state.troubles.remove(machine);
    }

    /// A machine of a pool was told to upgrade.
    pub fn update_begins(&self, pool: &Key, machine: &str, now: Instant) {
        let mut state = self.state();
        let span = state.pools.entry(pool.clone()).or_insert_with(|| PoolSpan {
            since: now,
            updates: HashMap::new(),
        });
        span.updates.insert(machine.to_owned(), now);
    }

    /// Looks at the machines of a pool that are told to upgrade: each has arrived, has failed or is
    /// gone, or goes on. Returns how long those took that have arrived.
    pub fn updates_end(
        &self,
        pool: &Key,
        now: Instant,
        how: impl Fn(&str) -> Update,
    ) -> Vec<Duration> {
        let mut state = self.state();
        let Some(span) = state.pools.get_mut(pool) else {
            return Vec::new();
        };
        let mut done = Vec::new();
        span.updates.retain(|machine, since| match how(machine) {
            Update::UnderWay => true,
            Update::Given => false,
            Update::Arrived => {
                done.push(now - *since);
                false
            }
        });
        done
    }

    /// All machines of a pool run the wanted image. Returns how long that took, if this replica has
    /// ordered the first of the upgrades.
    pub fn roll_ends(&self, pool: &Key, now: Instant) -> Option<Duration> {
        let span = self.state().pools.remove(pool)?;
        Some(now - span.since)
    }

    /// A pool is gone.
    pub fn forget_pool(&self, pool: &Key) {
        self.state().pools.remove(pool);
    }

    /// Another replica leads, or this one does from now on. Hosts are seen by every replica.
    pub fn leave(&self) {
        let mut state = self.state();
        state.claims.clear();
        state.troubles.clear();
        state.pools.clear();
    }
}

/// How the upgrade of a machine stands.
pub enum Update {
    /// It is not over.
    UnderWay,
    /// It runs the image.
    Arrived,
    /// It has failed, or the machine is gone.
    Given,
}

/// What a host does for its claim.
fn under_way(host: &Host) -> Option<Operation> {
    let claim = host.claim.as_ref()?;
    if claim.wanted == Wanted::Released {
        return match (host.is_fenced(&claim.id), host.phase) {
            (false, _) => Some(Operation::Release),
            (true, Phase::Cleaning) => Some(Operation::Clean),
            (true, _) => None,
        };
    }
    match host.phase {
        Phase::Imaging if host.observes(&claim.id) => Some(Operation::Image),
        Phase::Joining if host.observes(&claim.id) => Some(Operation::Join),
        Phase::Imaging
        | Phase::Joining
        | Phase::Registered
        | Phase::Available
        | Phase::Joined
        | Phase::Fencing
        | Phase::Cleaning
        | Phase::Failed
        | Phase::Quarantined => None,
    }
}

fn has_succeeded(what: Operation, host: &Host) -> bool {
    let phase = host.phase;
    match what {
        Operation::Image => matches!(phase, Phase::Joining | Phase::Joined),
        Operation::Join => phase == Phase::Joined,
        Operation::Release => phase.is_fenced(),
        Operation::Clean => phase == Phase::Available,
        Operation::Claim | Operation::Update | Operation::Roll => false,
    }
}

#[cfg(test)]
mod tests;

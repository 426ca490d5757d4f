//! What the metrics show of a pool.

use std::time::Instant;

use infrastructure::{Member, Pool, PoolAct, PoolWhy};

use super::super::spans::Update;
use super::super::work::Provision;
use crate::machines::Key;
use crate::metrics::{Operation, PoolCounts};

impl Provision {
    /// Shows the machines of a pool, and counts the upgrades that have succeeded.
    pub(super) fn measure_pool(
        &self,
        key: &Key,
        pool: &Pool,
        members: &[Member],
        decided: Result<&PoolAct, &PoolWhy>,
    ) {
        let metrics = &self.world.metrics;
        let stopped = matches!(decided, Err(PoolWhy::UpgradeFailed { .. }));
        let counts = count(pool, members, stopped);
        metrics.pools().show(&key.namespace, &key.name, &counts);
        let now = Instant::now();
        let arrived = self
            .spans
            .updates_end(key, now, |name| standing(members, name));
        for time in arrived {
            metrics.operations().took(Operation::Update, time);
        }
        let is_over = matches!(decided, Err(PoolWhy::Settled | PoolWhy::LeftOut { .. }));
        if is_over && let Some(time) = self.spans.roll_ends(key, now) {
            metrics.operations().took(Operation::Roll, time);
        }
        if let Ok(PoolAct::Upgrade(name)) = decided {
            self.spans.update_begins(key, name, now);
        }
    }

    pub(super) fn forget_pool(&self, key: &Key) {
        self.spans.forget_pool(key);
        self.world.metrics.pools().forget(&key.namespace, &key.name);
    }
}

fn standing(members: &[Member], name: &str) -> Update {
    match members.iter().find(|one| one.name == name) {
        Some(one) if one.up_to_date => Update::Arrived,
        Some(one) if one.failed.is_none() && !one.leaving => Update::UnderWay,
        Some(_) | None => Update::Given,
    }
}

fn count(pool: &Pool, members: &[Member], stopped: bool) -> PoolCounts {
    let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
    let count = |is: fn(&Member) -> bool| {
        let staying = members.iter().filter(|one| !one.leaving);
        number(staying.filter(|one| is(one)).count())
    };
    PoolCounts {
        wanted: number(pool.wanted.unwrap_or(0)),
        members: count(|_| true),
        ready: count(|one| one.available),
        updated: count(|one| one.up_to_date && one.provider_id.is_some()),
        unavailable: count(|one| !one.available),
        stopped,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_that_leave_are_not_counted() {
        let serves = Member {
            provider_id: Some("careen://ns/h/1".to_owned()),
            available: true,
            up_to_date: true,
            ..Member::default()
        };
        let upgrades = Member {
            available: false,
            up_to_date: false,
            ..serves.clone()
        };
        let joins = Member {
            provider_id: None,
            available: false,
            ..serves.clone()
        };
        let leaves = Member {
            leaving: true,
            ..serves.clone()
        };
        let pool = Pool {
            wanted: Some(4),
            ..Pool::default()
        };
        let counts = PoolCounts {
            wanted: 4,
            members: 3,
            ready: 1,
            updated: 1,
            unavailable: 2,
            stopped: true,
        };
        let members = [serves, upgrades, joins, leaves];
        assert_eq!(count(&pool, &members, true), counts);
    }
}

//! One look at a pool: read, decide, write, until nothing is due.

mod known;
mod label;
mod measure;
mod members;
mod perform;
mod read;
mod report;

use infrastructure::{PoolWhy, decide_pool};

use super::work::Provision;
use crate::machines::Key;
use crate::writes::WriteError;

/// How many writes one look makes. The rest is for the next look.
const WRITES: usize = 12;
/// How often to look at a pool that waits: Nodes that become Ready wake nobody here.
const SOON: u64 = 5;
/// How often to look at a pool at rest. An ImageCatalogue wakes nobody here.
const SELDOM: u64 = 60;

impl Provision {
    /// Looks at one pool. Returns after how many seconds to look again.
    pub(super) async fn look_at_pool(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        for _ in 0..WRITES {
            let Some(read) = self.read_pool(key).await? else {
                self.forget_pool(key);
                self.starts.rest(key);
                return Ok(None);
            };
            let members = self.members(&read);
            let (pool, known) = read::facts_of(&read, &members, self.starts.batch(key));
            let decided = decide_pool(&pool, &known);
            self.measure_pool(key, &pool, &known, decided.as_ref());
            match decided {
                Ok(act) => {
                    tracing::debug!(pool = %key, "{act:?}");
                    self.perform_for_pool(&read, &members, act).await?;
                }
                Err(why) => {
                    self.starts.rest(key);
                    self.report_pool(&read, &known, &why).await?;
                    return Ok(again(&why));
                }
            }
        }
        Ok(Some(1))
    }
}

const fn again(why: &PoolWhy) -> Option<u64> {
    match why {
        PoolWhy::NoOwner | PoolWhy::Paused { .. } | PoolWhy::Gone => None,
        PoolWhy::Settled | PoolWhy::LeftOut { .. } => Some(SELDOM),
        PoolWhy::Leaving { .. }
        | PoolWhy::MachinePaused { .. }
        | PoolWhy::UpgradeFailed { .. }
        | PoolWhy::NoImage { .. }
        | PoolWhy::Unavailable { .. }
        | PoolWhy::Upgrading { .. }
        | PoolWhy::Joining { .. } => Some(SOON),
    }
}

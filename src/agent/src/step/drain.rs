//! The steps that the API server performs.

use std::time::Duration;

use upgrade::step::Effect;
use upgrade::{Doing, Reason, UpgradeId};

use crate::cluster::{ApiError, Cluster};
use crate::drain::{self, Drain};
use crate::hands::{Ended, Errand};

/// The API server and the inputs of a step's requests.
pub(super) struct Server<'a> {
    pub cluster: &'a Cluster,
    pub node: Option<&'a str>,
    pub errand: &'a Errand,
}

impl<'a> Server<'a> {
    pub async fn rehearse(self) -> Result<Ended, Reason> {
        let blocked = drain::rehearse(self.cluster, self.node()?).await;
        let blocked = blocked.map_err(ApiError::into_reason)?;
        Ok(Ended::Done(Effect::Rehearsed { blocked }))
    }

    pub async fn exclude(self) -> Result<Ended, Reason> {
        ended(drain::exclude(self.cluster, self.node()?, self.id()?).await)
    }

    pub async fn release(self) -> Result<Ended, Reason> {
        ended(drain::release(self.cluster, self.node()?, self.id()?).await)
    }

    pub async fn unmark(self) -> Result<Ended, Reason> {
        ended(drain::unmark(self.cluster, self.node()?).await)
    }

    pub async fn drain(self, spent_seconds: u64) -> Result<Ended, Reason> {
        let progress = |percent, text| {
            let doing = Doing { percent, text };
            self.errand.doing.send_replace(Some(doing));
        };
        let drain = Drain {
            cluster: self.cluster,
            node: self.node()?,
            id: self.id()?,
            policy: &self.errand.policy.drain,
            spent: Duration::from_secs(spent_seconds),
            progress: &progress,
        };
        self.errand.unless_cancelled(drain.run()).await
    }

    fn node(&self) -> Result<&'a str, Reason> {
        self.node.ok_or_else(|| Reason::ApiAway {
            detail: "this node's Node was not read yet".to_owned(),
        })
    }

    /// The upgrade that the cordon belongs to.
    fn id(&self) -> Result<&'a UpgradeId, Reason> {
        let id = self.errand.id.as_ref();
        id.ok_or_else(|| Reason::DrainRefused {
            detail: "no upgrade needs a drain".to_owned(),
        })
    }
}

fn ended(done: Result<(), ApiError>) -> Result<Ended, Reason> {
    let done = done.map_err(ApiError::into_reason);
    done.map(|()| Ended::Done(Effect::Plain))
}

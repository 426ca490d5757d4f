//! The Secret with a token that a host looks for when it has none that is good.

use infrastructure::Host;

use super::accounts;
use super::work::Provision;
use crate::kinds::CareenHost;
use crate::machines::Key;
use crate::writes::WriteError;

impl Provision {
    /// For how many seconds a token is where this host looks for one.
    pub(super) async fn handed_over(
        &self,
        key: &Key,
        host: &Host,
    ) -> Result<Option<i64>, WriteError> {
        let Some(secret) = host.handover.as_ref().filter(|_| host.approved) else {
            return Ok(None);
        };
        let is_heard = host.is_alive(self.now(), self.policy.alive);
        if is_heard && self.taken.with(|taken| taken.contains(key)) {
            return Ok(None);
        }
        let age = accounts::handed_over(&self.client, secret).await?;
        self.taken.with(|taken| match age {
            None => taken.insert(key.clone()),
            Some(_) => taken.remove(key),
        });
        Ok(age)
    }

    /// Puts a token there.
    pub(super) async fn hand_over(&self, key: &Key, host: &CareenHost) -> Result<(), WriteError> {
        self.taken.with(|taken| taken.remove(key));
        let secret = host.spec.handover.as_deref().unwrap_or_default();
        accounts::hand_over(&self.client, host, secret).await
    }
}

//! The one Lease of the cluster's lock, for one test at a time.

use anyhow::Result;
use careen_tests::cluster::plane;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::sync::{Mutex, MutexGuard};

const NAME: &str = "careen-control-plane";

static ONE: Mutex<()> = Mutex::const_new(());

/// The lock, which no other test uses meanwhile.
pub struct TheLock {
    leases: Api<Lease>,
    _alone: MutexGuard<'static, ()>,
}

impl TheLock {
    /// A lock that nobody holds.
    pub async fn free() -> Result<Self> {
        let alone = ONE.lock().await;
        let this = Self {
            leases: leases(plane().await?.client().await?),
            _alone: alone,
        };
        this.remove().await?;
        Ok(this)
    }

    /// A lock of this holder.
    pub async fn of(holder: &str) -> Result<Self> {
        let this = Self::free().await?;
        this.give(holder).await?;
        Ok(this)
    }

    /// Gives it to this holder.
    pub async fn give(&self, holder: &str) -> Result<()> {
        give(&self.leases, holder).await
    }

    /// Its holder, if there is one.
    pub async fn holder(&self) -> Result<Option<String>> {
        let lease = self.leases.get_opt(NAME).await?;
        let spec = lease.and_then(|lease| lease.spec);
        Ok(spec.and_then(|spec| spec.holder_identity))
    }

    /// Removes it, so that the next test finds none.
    pub async fn remove(&self) -> Result<()> {
        if self.leases.get_opt(NAME).await?.is_some() {
            self.leases.delete(NAME, &DeleteParams::default()).await?;
        }
        Ok(())
    }
}

/// The API of the Lease.
pub fn leases(client: Client) -> Api<Lease> {
    Api::namespaced(client, "kube-system")
}

/// Makes the Lease, or gives it another holder.
pub async fn give(leases: &Api<Lease>, holder: &str) -> Result<()> {
    let spec = json!({ "holderIdentity": holder, "acquireTime": "2025-11-22T06:21:40.000000Z" });
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": NAME }, "spec": spec,
    });
    let by = PatchParams::apply("careen-control").force();
    leases.patch(NAME, &by, &Patch::Apply(lease)).await?;
    Ok(())
}

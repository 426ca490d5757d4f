//! A management cluster: an API server, managers of Cluster API, and careen-provider with its
//! infrastructure provider.

use anyhow::Result;
use kube::Client;
use testkit::cluster_api::infrastructure::install_kinds;
use testkit::cluster_api::provider::Provider;
use testkit::cluster_api::{Manager, Managers, Version, objects};
use testkit::control_plane::ControlPlane;
use tokio::sync::{Mutex, MutexGuard};

use crate::hosted::{self, Program};
use crate::{CLUSTER, PATIENCE};

/// Everything of one management cluster. The parts end in this order.
pub struct Management {
    /// The administrator.
    pub client: Client,
    _provider: Provider,
    _managers: Managers,
    /// Its API server.
    pub plane: ControlPlane,
    _alone: Option<MutexGuard<'static, ()>>,
}

/// The tests use the same folders, namespace and names.
static ALONE: Mutex<()> = Mutex::const_new(());

impl Management {
    /// Starts it. No other test has one meanwhile.
    pub async fn start(managers: &[Manager]) -> Result<Self> {
        let alone = ALONE.lock().await;
        let mut this = Self::start_beside(managers, "hosts-managers-cluster").await?;
        this._alone = Some(alone);
        Ok(this)
    }

    /// Starts a second one in a test that has one.
    pub async fn start_beside(managers: &[Manager], folder: &str) -> Result<Self> {
        let folder = testkit::programs::cache()?.join(folder);
        if folder.exists() {
            std::fs::remove_dir_all(&folder)?;
        }
        let plane = ControlPlane::start(&folder).await?;
        let client = plane.client().await?;
        let managers = Managers::start_these(managers, Version::NEWEST, &plane).await?;
        install_kinds(&client).await?;
        Ok(Self {
            client,
            _provider: Provider::start_with_hosts(&plane).await?,
            _managers: managers,
            plane,
            _alone: None,
        })
    }

    /// Hosts of these names, which have the file of `kubectl careen host token`.
    pub async fn hosts(&self, names: &[&str]) -> Result<Vec<Program>> {
        let mut hosts = Vec::new();
        for name in names {
            hosts.push(Program::start(hosted::settings(
                &self.token().await?,
                name,
            )?));
        }
        Ok(hosts)
    }

    /// The file for hosts of the registration.
    pub async fn token(&self) -> Result<String> {
        let kubeconfig = self.plane.admin_kubeconfig();
        let ask = || hosted::kubectl(&kubeconfig, CLUSTER, "token --registration rack-a");
        objects::until("the registration has an account", PATIENCE, ask).await
    }
}

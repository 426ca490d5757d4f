//! careen-provider as its pod runs it, with only the rights of its package. Several may run at once,
//! and each takes itself for the leader.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use anyhow::Result;
use infrastructure::Policy;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider::hooks::Limits;
use provider::lease::Candidate;
use provider::run::{Certificate, Setup, run};
use provider::settings::Settings;
use provider::tls::Own;
use provider::{manifests, names};
use testkit::cluster_api::account::kubeconfig_of;
use tokio::sync::oneshot;

use crate::cluster::plane;

/// A provider. Dropping it kills it, between any two instructions.
pub struct Running {
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Running {
    fn drop(&mut self) {
        drop(self.kill.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Running {
    /// Starts one for a namespace.
    ///
    /// # Errors
    /// When it has no account.
    pub async fn start(admin: &Client, space: &str, policy: Policy) -> Result<Self> {
        Self::start_as(admin, setup(space, policy)).await
    }

    /// Starts one that takes part in the election, and serves its health at this address.
    ///
    /// # Errors
    /// When it has no account.
    pub async fn elected(admin: &Client, space: &str, health: SocketAddr) -> Result<Self> {
        let lease = Candidate {
            namespace: manifests::NAMESPACE.to_owned(),
            name: names::MANAGER.to_owned(),
            identity: space.to_owned(),
        };
        let setup = Setup {
            lease: Some(lease),
            metrics_address: health,
            ..setup(space, Policy::default())
        };
        Self::start_as(admin, setup).await
    }

    /// Starts one that serves its metrics at this address.
    ///
    /// # Errors
    /// When it has no account.
    pub async fn measured(
        admin: &Client,
        space: &str,
        policy: Policy,
        metrics: SocketAddr,
    ) -> Result<Self> {
        let setup = Setup {
            metrics_address: metrics,
            ..setup(space, policy)
        };
        Self::start_as(admin, setup).await
    }

    async fn start_as(admin: &Client, setup: Setup) -> Result<Self> {
        let account = (manifests::NAMESPACE, names::MANAGER);
        let kubeconfig = kubeconfig_of(plane().await?, admin, account).await?;
        let (kill, killed) = oneshot::channel();
        let thread = std::thread::Builder::new().spawn(move || {
            if let Err(error) = live(kubeconfig, setup, killed) {
                eprintln!("careen-provider: {error:#}");
            }
        })?;
        Ok(Self {
            kill: Some(kill),
            thread: Some(thread),
        })
    }
}

fn live(kubeconfig: Kubeconfig, setup: Setup, killed: oneshot::Receiver<()>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    let ended = runtime.block_on(async {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let client = Client::try_from(config)?;
        tokio::select! {
            ended = run(client, setup, |_, _| {}, std::future::pending()) => ended.map_err(Into::into),
            _ = killed => Ok(()),
        }
    });
    drop(runtime);
    ended
}

fn setup(space: &str, policy: Policy) -> Setup {
    let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    Setup {
        hook_address: any_port,
        metrics_address: any_port,
        namespace: Some(space.to_owned()),
        certificate: Certificate::Own(Own {
            namespace: manifests::NAMESPACE.to_owned(),
            name: names::TLS_SECRET.to_owned(),
            names: vec!["127.0.0.1".to_owned()],
        }),
        client_ca: None,
        extension_config: names::MANAGER.to_owned(),
        lease: None,
        settings: Settings::default(),
        infrastructure: Some(policy),
        limits: Limits::default(),
    }
}

//! careen-provider as its pod runs it, with only the rights of its package. Several may run at once,
//! and each takes itself for the leader.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
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
use testkit::control_plane::ControlPlane;
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
        let setup = Setup {
            lease: Some(candidate(space)),
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

    /// Starts one on another control plane than that of all tests. It takes part in an election.
    ///
    /// # Errors
    /// When it has no account.
    pub async fn on(
        plane: &ControlPlane,
        admin: &Client,
        space: &str,
        policy: Policy,
    ) -> Result<Self> {
        let account = (manifests::NAMESPACE, names::MANAGER);
        let kubeconfig = kubeconfig_of(plane, admin, account).await?;
        let setup = Setup {
            lease: Some(candidate(space)),
            ..setup(space, policy)
        };
        Self::start_with(kubeconfig, setup)
    }

    /// Starts one that reaches the API server at this URL.
    ///
    /// # Errors
    /// When it has no account.
    pub async fn through(admin: &Client, space: &str, policy: Policy, url: &str) -> Result<Self> {
        let mut kubeconfig = account(admin).await?;
        for cluster in &mut kubeconfig.clusters {
            let cluster = cluster.cluster.as_mut();
            cluster.context("no cluster")?.server = Some(url.to_owned());
        }
        Self::start_with(kubeconfig, setup(space, policy))
    }

    async fn start_as(admin: &Client, setup: Setup) -> Result<Self> {
        Self::start_with(account(admin).await?, setup)
    }

    fn start_with(kubeconfig: Kubeconfig, setup: Setup) -> Result<Self> {
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

fn candidate(identity: &str) -> Candidate {
    Candidate {
        namespace: manifests::NAMESPACE.to_owned(),
        name: names::MANAGER.to_owned(),
        identity: identity.to_owned(),
    }
}

async fn account(admin: &Client) -> Result<Kubeconfig> {
    let account = (manifests::NAMESPACE, names::MANAGER);
    kubeconfig_of(plane().await?, admin, account).await
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

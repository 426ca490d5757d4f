//! careen-provider as its pod runs it, with only the rights from its manifests. A test can kill it
//! at any moment, and no part of it continues.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use kube::api::{Api, DynamicObject};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider::hooks::Limits;
use provider::lease::Candidate;
use provider::run::{Certificate, Setup, run};
use provider::settings::Settings;
use provider::tls::Own;
use provider::{manifests, names};
use serde_json::{Value, json};
use testkit::cluster_api::objects;
use testkit::cluster_api::provider::until_discovered;
use testkit::control_plane::{ControlPlane, ports};
use tokio::sync::oneshot;

use crate::caller::Caller;
use crate::provider_release::{install, kubeconfig};
use crate::replica::Replica;
use crate::wire::Wire;

/// The provider, running or killed.
pub struct ProviderProcess {
    /// The wire between the managers and its hooks.
    pub wire: Wire,
    kubeconfig: Kubeconfig,
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

struct Running {
    // A drop of this sender kills it.
    _kill: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Running {
    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl ProviderProcess {
    /// Installs the objects of its release, starts it, and waits until core has discovered its
    /// hooks.
    ///
    /// # Errors
    /// When the API server refuses an object, or core does not discover the hooks.
    pub async fn start(plane: &ControlPlane, admin: &Client) -> Result<Self> {
        install(admin).await?;
        let address = free_address()?;
        let this = Self {
            wire: Wire::to(address.port()).await?,
            kubeconfig: kubeconfig(plane, admin).await?,
            address,
            running: Mutex::new(None),
        };
        this.announce(admin).await?;
        this.start_again()?;
        until_discovered(admin).await?;
        Ok(this)
    }

    /// Applies its ExtensionConfig, which gives core its address, and the Secret with the
    /// authorities to trust.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn announce(&self, admin: &Client) -> Result<()> {
        let url = format!("https://127.0.0.1:{}", self.wire.port);
        let secret = format!("{}/{}", manifests::NAMESPACE, names::TLS_SECRET);
        let extension = json!({
            "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
            "metadata": { "name": names::MANAGER, "annotations": { names::CA_FROM_SECRET: secret } },
            "spec": { "clientConfig": { "url": url } },
        });
        objects::apply(admin, &extension).await?;
        Ok(())
    }

    /// Starts it again after a kill. Does nothing while it runs.
    ///
    /// # Errors
    /// When it has ended by itself. The error gives the reason.
    pub fn start_again(&self) -> Result<()> {
        self.start_as(with_control_planes())
    }

    /// As [`Self::start_again`], with these settings until the next kill.
    ///
    /// # Errors
    /// As [`Self::start_again`].
    pub fn start_as(&self, settings: Settings) -> Result<()> {
        if self.running().as_ref().is_some_and(Running::has_ended) {
            self.kill()?;
        }
        let mut running = self.running();
        if running.is_none() {
            let (kill, killed) = oneshot::channel();
            let (kubeconfig, address) = (self.kubeconfig.clone(), self.address);
            let setup = setup(address, settings);
            let life = move || live(kubeconfig, setup, killed);
            *running = Some(Running {
                _kill: kill,
                thread: std::thread::Builder::new().spawn(life)?,
            });
        }
        Ok(())
    }

    fn running(&self) -> MutexGuard<'_, Option<Running>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A replica with its own port. It uses the Lease and the certificate of its release.
    ///
    /// # Errors
    /// When it does not become ready. The error contains its own report.
    pub async fn replica(&self, identity: &str) -> Result<Replica> {
        let lease = Candidate {
            namespace: manifests::NAMESPACE.to_owned(),
            name: names::MANAGER.to_owned(),
            identity: identity.to_owned(),
        };
        let any_port = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let setup = Setup {
            lease: Some(lease),
            ..setup(any_port, with_control_planes())
        };
        Replica::start_as(self.kubeconfig.clone(), setup).await
    }

    /// The port on which it listens, without the wire.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// A caller that calls its hooks without the wire, and trusts the same CA bundle as core.
    ///
    /// # Errors
    /// When core does not have a CA bundle yet.
    pub async fn caller(&self, admin: &Client) -> Result<Caller> {
        let extension = extensions(admin)?.get(names::MANAGER).await?;
        let bundle = extension.data.pointer("/spec/clientConfig/caBundle");
        let bundle = bundle.and_then(Value::as_str).context("no caBundle")?;
        Caller::trusting(self.address, bundle).await
    }

    /// Kills it, as SIGKILL would: its work ends between two instructions.
    ///
    /// # Errors
    /// When it ended before the kill.
    pub fn kill(&self) -> Result<()> {
        let running = self.running().take();
        let Some(Running { _kill, thread }) = running else {
            return Ok(());
        };
        drop(_kill);
        thread.join().ok().context("careen-provider panicked")?
    }
}

/// ExtensionConfigs. careen-provider's has the name of its manager.
///
/// # Errors
/// Never, because the version is well formed.
pub fn extensions(admin: &Client) -> Result<Api<DynamicObject>> {
    let kind = objects::kind("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig")?;
    Ok(objects::api(admin, &kind, None))
}

/// All its tasks run in its own runtime and end with it.
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
    // Its port is free for the next start only when all its tasks are gone.
    drop(runtime);
    ended
}

/// The fleet's agents also upgrade control planes, as the real agent will.
fn with_control_planes() -> Settings {
    Settings {
        control_planes: true,
        ..Settings::default()
    }
}

fn setup(address: SocketAddr, settings: Settings) -> Setup {
    Setup {
        hook_address: address,
        metrics_address: (Ipv4Addr::LOCALHOST, 0).into(),
        namespace: None,
        certificate: Certificate::Own(Own {
            namespace: manifests::NAMESPACE.to_owned(),
            name: names::TLS_SECRET.to_owned(),
            names: vec![address.ip().to_string()],
        }),
        client_ca: None,
        extension_config: names::MANAGER.to_owned(),
        lease: None,
        settings,
        infrastructure: None,
        limits: Limits::default(),
    }
}

/// An address that no other caller gets. It stays the same over the provider's restarts, because
/// the ExtensionConfig names it.
///
/// # Errors
/// When no address is free.
pub fn free_address() -> Result<SocketAddr> {
    let [port] = ports::free()?;
    Ok((Ipv4Addr::LOCALHOST, port).into())
}

//! careen-provider as its pod runs it, with the rights that its manifests give it and no others. It can be killed at any moment,
//! and then nothing of it goes on.

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
use provider::{manifests, names, rights};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use vm_tests::cluster_api::account::kubeconfig_of;
use vm_tests::cluster_api::provider::until_discovered;
use vm_tests::cluster_api::{infrastructure, install_definitions, objects};
use vm_tests::control_plane::{ControlPlane, ports};

use crate::caller::Caller;
use crate::fleet::images::{GOOD, Image};
use crate::replica::Replica;
use crate::wire::Wire;

/// The provider, or the place where it was.
pub struct ProviderProcess {
    /// Between the managers and its hooks.
    pub wire: Wire,
    kubeconfig: Kubeconfig,
    address: SocketAddr,
    running: Mutex<Option<Running>>,
}

struct Running {
    // Dropped to kill it.
    _kill: oneshot::Sender<()>,
    thread: JoinHandle<Result<()>>,
}

impl Running {
    fn has_ended(&self) -> bool {
        self.thread.is_finished()
    }
}

impl ProviderProcess {
    /// Installs what its release brings, starts it, and waits until core has discovered its hooks.
    ///
    /// # Errors
    /// When something is refused, or core does not discover it.
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
        // It looks for the ExtensionConfig at its start, and then every ten seconds.
        this.start_again()?;
        until_discovered(admin).await?;
        Ok(this)
    }

    /// Applies its ExtensionConfig, which says to core where it is; whom to trust there it adds itself.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn announce(&self, admin: &Client) -> Result<()> {
        let url = format!("https://127.0.0.1:{}", self.wire.port);
        let extension = json!({
            "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
            "metadata": { "name": names::MANAGER },
            "spec": { "clientConfig": { "url": url } },
        });
        objects::apply(admin, &extension).await?;
        Ok(())
    }

    /// Starts it where it was killed; nothing happens while it runs.
    ///
    /// # Errors
    /// When it has ended by itself: why.
    pub fn start_again(&self) -> Result<()> {
        self.start_as(with_control_planes())
    }

    /// As [`Self::start_again`], with these settings for this life.
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

    /// A replica with a port of its own, which leads by the Lease of its release and shares its certificate.
    ///
    /// # Errors
    /// When it does not come to be ready: what it says of itself.
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

    /// The port that it listens at, behind its wire.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Somebody who calls its hooks past the wire, and trusts whom core trusts.
    ///
    /// # Errors
    /// When core has nobody to trust yet.
    pub async fn caller(&self, admin: &Client) -> Result<Caller> {
        let extension = extensions(admin)?.get(names::MANAGER).await?;
        let bundle = extension.data.pointer("/spec/clientConfig/caBundle");
        let bundle = bundle.and_then(Value::as_str).context("no caBundle")?;
        Caller::trusting(self.address, bundle).await
    }

    /// Kills it, as SIGKILL would: what it was doing ends between two instructions.
    ///
    /// # Errors
    /// When it had come to an end before.
    pub fn kill(&self) -> Result<()> {
        let running = self.running().take();
        let Some(Running { _kill, thread }) = running else {
            return Ok(());
        };
        drop(_kill);
        thread.join().ok().context("careen-provider panicked")?
    }
}

/// ExtensionConfigs; careen-provider's has the name of its manager.
///
/// # Errors
/// Never, for the version is well formed.
pub fn extensions(admin: &Client) -> Result<Api<DynamicObject>> {
    let kind = objects::kind("runtime.cluster.x-k8s.io/v1beta2", "ExtensionConfig")?;
    Ok(objects::api(admin, &kind, None))
}

/// All its tasks live in a runtime of its own and go with it.
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
    // Only when all its tasks are gone is its port free for the next one.
    drop(runtime);
    ended
}

/// The fleet's agents take control planes along, as the real one will.
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
            name: "careen-provider-tls".to_owned(),
            names: vec![address.ip().to_string()],
        }),
        client_ca: None,
        extension_config: names::MANAGER.to_owned(),
        lease: None,
        settings,
        limits: Limits::default(),
    }
}

/// Namespace, definition, rights, and a catalogue of the fleet's good images.
///
/// # Errors
/// When something is refused.
pub async fn install(admin: &Client) -> Result<()> {
    let space = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": manifests::NAMESPACE } });
    objects::apply(admin, &space).await?;
    install_definitions(admin, &[provider::catalogue::manifest()?]).await?;
    objects::apply_all(admin, &rights::objects(manifests::NAMESPACE)).await?;
    objects::apply(admin, &infrastructure::rights()).await?;
    fleet_catalogue(admin, &GOOD).await
}

/// Names these images, and no others, for the Machines of all Clusters.
///
/// # Errors
/// When the API server refuses.
pub async fn fleet_catalogue(admin: &Client, images: &[Image]) -> Result<()> {
    let images: Vec<Value> = images.iter().map(|image| entry(*image, None)).collect();
    apply_catalogue(admin, "fleet", &images).await
}

/// Names another image for the version that it carries, for the Machines of one Cluster alone.
///
/// # Errors
/// When the API server refuses.
pub async fn catalogue(admin: &Client, cluster: &str, image: Image) -> Result<()> {
    apply_catalogue(admin, cluster, &[entry(image, Some(cluster))]).await
}

async fn apply_catalogue(admin: &Client, name: &str, images: &[Value]) -> Result<()> {
    let object = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "ImageCatalogue",
        "metadata": { "name": name }, "spec": { "images": images },
    });
    objects::apply(admin, &object).await?;
    Ok(())
}

fn entry(image: Image, cluster: Option<&str>) -> Value {
    let mut entry = json!({ "kubernetesVersion": image.version, "image": image.reference() });
    if let Some(cluster) = cluster {
        let labels = json!({ names::CLUSTER_LABEL: cluster });
        entry["machineSelector"] = json!({ "matchLabels": labels });
    }
    entry
}

/// The administrator's, but with a token of the provider's ServiceAccount.
///
/// # Errors
/// When there is no such account.
pub async fn kubeconfig(plane: &ControlPlane, admin: &Client) -> Result<Kubeconfig> {
    kubeconfig_of(plane, admin, (manifests::NAMESPACE, names::MANAGER)).await
}

/// An address that nobody else gets; the same over the provider's restarts, for the ExtensionConfig names it.
///
/// # Errors
/// When there is none.
pub fn free_address() -> Result<SocketAddr> {
    let [port] = ports::free()?;
    Ok((Ipv4Addr::LOCALHOST, port).into())
}

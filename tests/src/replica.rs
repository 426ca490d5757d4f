//! A replica of careen-provider with only the rights of its release, and a caller of its hooks.

use std::net::{Ipv4Addr, SocketAddr};
use std::thread::JoinHandle;

use anyhow::{Context, Result, bail, ensure};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use provider::engine::Policy;
use provider::hooks::Limits;
use provider::lease::Candidate;
use provider::manifests;
use provider::run::{Addresses, Certificate, Setup, run};
use provider::settings::Settings;
use provider::tls::Own;
use serde_json::Value;
use testkit::cluster_api::objects;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::caller::Caller;
use crate::cluster::{PATIENCE, plane};
use crate::management::{Management, certificate};
use crate::provider_release;

/// How long the mark of a cancelled update stays for a request that may still arrive. The time is
/// long enough on one machine, and short enough for a test to wait.
const LANDING: i64 = 5;

/// One replica. Dropping it kills it, as SIGKILL would.
pub struct Replica {
    /// The addresses on which it listens.
    pub addresses: Addresses,
    // This field comes before the thread, because its drop ends the thread.
    kill: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<()>>>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        drop(self.kill.take());
        if let Some(thread) = self.thread.take() {
            // It writes nothing more only when its tasks are gone.
            let _ = thread.join();
        }
    }
}

impl Replica {
    /// Starts a replica for the Machines of a scene, and waits until it is ready for calls.
    ///
    /// # Errors
    /// When it does not become ready. The error contains its own report.
    pub async fn start(scene: &Management, identity: &str) -> Result<Self> {
        Self::start_with(scene, identity, Policy::default()).await
    }

    /// Does the same with other limits.
    ///
    /// # Errors
    /// When it does not become ready. The error contains its own report.
    pub async fn start_with(scene: &Management, identity: &str, policy: Policy) -> Result<Self> {
        let kubeconfig = provider_release::kubeconfig(plane().await?, &scene.admin).await?;
        Self::start_as(kubeconfig, setup(&scene.space, identity, policy)).await
    }

    /// Does the same with this credential and setup.
    ///
    /// # Errors
    /// When it does not become ready. The error contains its own report.
    pub async fn start_as(kubeconfig: Kubeconfig, setup: Setup) -> Result<Self> {
        let (kill, killed) = oneshot::channel();
        let (up, addresses) = oneshot::channel();
        let life = move || live(kubeconfig, setup, up, killed);
        let thread = std::thread::Builder::new().spawn(life)?;
        let this = Self {
            addresses: addresses.await.context("it has ended before it was up")?,
            kill: Some(kill),
            thread: Some(thread),
        };
        let ready = || async {
            let said = this.get("/readyz").await?;
            ensure!(said.contains("200 OK"), "{said}");
            Ok(())
        };
        objects::until("a replica ready", PATIENCE, ready).await?;
        Ok(this)
    }

    /// Its answer at a path of its health and metrics server.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn get(&self, path: &str) -> Result<String> {
        get(self.addresses.metrics, path).await
    }

    /// The value of a metric, with its labels as they are written. Nothing when the metric does not
    /// exist.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn metric(&self, name: &str) -> Result<Option<f64>> {
        let text = self.get("/metrics").await?;
        let line = text.lines().find_map(|line| {
            line.strip_prefix("careen_provider_")?
                .strip_prefix(name)?
                .strip_prefix(' ')
        });
        line.map(|value| value.parse().context("no number"))
            .transpose()
    }

    /// Whether it leads.
    ///
    /// # Errors
    /// When it does not answer.
    pub async fn leads(&self) -> Result<bool> {
        Ok(self.metric("leader").await? == Some(1.0))
    }

    /// Waits until it leads.
    ///
    /// # Errors
    /// When it does not become the leader.
    pub async fn until_it_leads(&self) -> Result<()> {
        let ask = || async {
            ensure!(self.leads().await?, "it does not lead");
            Ok(())
        };
        objects::until("a replica that leads", PATIENCE, ask).await
    }

    /// Calls a hook as core does, which trusts only this bundle (base64).
    ///
    /// # Errors
    /// When the caller does not trust it, or it does not answer with 200.
    pub async fn call(&self, bundle: &str, hook: &str, content: Value) -> Result<Value> {
        let caller = Caller::trusting(self.addresses.hooks, bundle).await?;
        caller.call(hook, content).await
    }
}

/// The answer of a careen-provider at a path of its health and metrics server, from the status line
/// on.
///
/// # Errors
/// When it does not answer.
pub async fn get(metrics: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(metrics).await?;
    let request = format!("GET {path} HTTP/1.0\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}

/// All its tasks run in its own runtime and end with it.
fn live(
    kubeconfig: Kubeconfig,
    setup: Setup,
    up: oneshot::Sender<Addresses>,
    killed: oneshot::Receiver<()>,
) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        let client = Client::try_from(config)?;
        let tell = |addresses, _| {
            // The receiver may have given up.
            let _ = up.send(addresses);
        };
        tokio::select! {
            ended = run(client, setup, tell, std::future::pending()) => bail!("careen-provider has ended: {ended:?}"),
            _ = killed => Ok(()),
        }
    })
}

fn setup(space: &str, identity: &str, policy: Policy) -> Setup {
    Setup {
        hook_address: (Ipv4Addr::LOCALHOST, 0).into(),
        metrics_address: (Ipv4Addr::LOCALHOST, 0).into(),
        namespace: Some(space.to_owned()),
        certificate: Certificate::Own(Own {
            namespace: manifests::NAMESPACE.to_owned(),
            name: certificate(space),
            names: vec!["127.0.0.1".to_owned()],
        }),
        client_ca: None,
        extension_config: space.to_owned(),
        infrastructure: None,
        lease: Some(Candidate {
            namespace: manifests::NAMESPACE.to_owned(),
            name: space.to_owned(),
            identity: identity.to_owned(),
        }),
        settings: Settings {
            policy: Policy {
                landing_seconds: LANDING,
                ..policy
            },
            ..Settings::default()
        },
        limits: Limits::default(),
    }
}

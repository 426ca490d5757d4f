//! Assembles the whole process; `main` only reads flags.

mod admin;
mod apart;
mod keep;
mod rivals;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use kube::core::{ApiResource, ObjectMeta};
use thiserror::Error;
use tokio::sync::{mpsc, watch};
use tokio::task::{JoinError, JoinSet};
use tracing::info;

use self::apart::Apart;
use crate::catalogue;
use crate::clusters::Clusters;
use crate::events::{self, Events};
use crate::flow::Worker;
use crate::hooks::{self, Limits, Listening};
use crate::lease::{self, Candidate, Lead};
use crate::listen::listen;
use crate::machines::{self, Machines};
use crate::provision::{self, Provision};
use crate::queue::Queue;
use crate::settings::Settings;
use crate::tls::{self, Current, Own, TlsError};
use crate::world::World;

/// How often the set of Clusters is compared with the connections, in memory only.
const FOLLOW: Duration = Duration::from_secs(1);

/// The configuration of the process.
#[derive(Clone, Debug)]
pub struct Setup {
    /// The address of the hooks.
    pub hook_address: SocketAddr,
    /// Where `/healthz`, `/readyz` and `/metrics` are served.
    pub metrics_address: SocketAddr,
    /// Handle only this namespace's Machines.
    pub namespace: Option<String>,
    /// The source of the certificate.
    pub certificate: Certificate,
    /// The authority whose certificates callers need. Without it anybody may call.
    pub client_ca: Option<PathBuf>,
    /// The ExtensionConfig whose settings the provider reads.
    pub extension_config: String,
    /// The Lease for the election. Without it this process leads at once.
    pub lease: Option<Candidate>,
    /// The operator's settings.
    pub settings: Settings,
    /// The limits of the infrastructure provider. Without them it is off.
    pub infrastructure: Option<infrastructure::Policy>,
    /// The limits of the hooks' server.
    pub limits: Limits,
}

/// The source of the certificate.
#[derive(Clone, Debug)]
pub enum Certificate {
    /// A folder that somebody else maintains.
    Given(PathBuf),
    /// A Secret that the provider maintains.
    Own(Own),
}

/// Why the process ended.
#[derive(Debug, Error)]
pub enum RunError {
    /// A port cannot be bound.
    #[error("cannot listen on {address}: {error}. Free the port or choose another address.")]
    Port {
        /// The address.
        address: SocketAddr,
        /// The error.
        error: std::io::Error,
    },
    /// The certificate cannot be used.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// The threads of the hooks cannot start.
    #[error("cannot start threads for the hooks: {0}. Raise the limit on processes.")]
    Threads(std::io::Error),
    /// A part of the process that should run for ever has ended. This is a bug in the provider.
    /// Kubernetes restarts the process.
    #[error("a task of careen-provider ended: {0}. Restart it; Kubernetes does that by itself.")]
    Ended(String),
}

/// The addresses of a running process.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// The hooks.
    pub hooks: SocketAddr,
    /// Health and metrics.
    pub metrics: SocketAddr,
}

/// Binds both ports before anything else starts.
async fn take_ports(
    setup: &Setup,
) -> Result<(Listening, tokio::net::TcpListener, Addresses), RunError> {
    let hooks_at = Listening::on(setup.hook_address, setup.limits).await;
    let hooks_at = hooks_at.map_err(port(setup.hook_address))?;
    let admin_at = listen(setup.metrics_address).await;
    let admin_at = admin_at.map_err(port(setup.metrics_address))?;
    let addresses = Addresses {
        hooks: hooks_at.address().map_err(port(setup.hook_address))?,
        metrics: admin_at.local_addr().map_err(port(setup.metrics_address))?,
    };
    Ok((hooks_at, admin_at, addresses))
}

/// Runs until `stop`. Sends the addresses to `up` as soon as it listens.
///
/// # Errors
/// If it cannot start, or if a part that should run for ever ends.
pub async fn run(
    client: Client,
    setup: Setup,
    up: impl FnOnce(Addresses, Arc<World>),
    stop: impl Future<Output = ()>,
) -> Result<(), RunError> {
    let (hooks_at, admin_at, addresses) = take_ports(&setup).await?;
    let current = Arc::new(Current::default());
    let client_ca = setup.client_ca.as_deref();
    let config = Arc::new(tls::config(Arc::clone(&current), client_ca)?);
    let apart = Apart::new().map_err(RunError::Threads)?;
    let (world, events) = world(&client, &setup);
    let (stopping, stopped) = watch::channel(false);
    let (lead, leads) = watch::channel(match &setup.lease {
        None => Lead::Always,
        Some(_) => Lead::No,
    });
    info!(hooks = %addresses.hooks, metrics = %addresses.metrics, "careen-provider serves");
    up(addresses, Arc::clone(&world));

    let (found, rival) = watch::channel(None);
    let mut background = work(&client, &setup, &world, &leads);
    if let Some(candidate) = &setup.lease {
        let (name, own) = (setup.extension_config.clone(), candidate.namespace.clone());
        background.spawn(rivals::watch(client.clone(), name, own, found));
    }
    keep_certificate(&mut background, &client, &setup, &current);
    background.spawn(events::publish(client.clone(), events));
    let shown = admin::Shown {
        world: Arc::clone(&world),
        current,
        leads,
        rival: rival.clone(),
        extension_config: setup.extension_config.clone(),
    };
    background.spawn(admin::serve(admin_at, shown));

    let mut ending = JoinSet::new();
    let serving = hooks::serve(hooks_at, config, world, until(stopped.clone()));
    ending.spawn(apart.run(serving));
    if let Some(candidate) = setup.lease {
        ending.spawn(lease::run(client, candidate, lead, rival, until(stopped)));
    }
    let fault = tokio::select! {
        () = stop => None,
        // These tasks never end. Nobody would notice the loss of one until a node waits for it.
        Some(ended) = background.join_next() => Some(ended),
        Some(ended) = ending.join_next() => Some(ended),
    };
    info!("stopping");
    stopping.send_replace(true);
    // Calls in progress are answered and the Lease is released. Any write in progress can be
    // interrupted safely.
    while ending.join_next().await.is_some() {}
    fault.map_or(Ok(()), |ended| Err(ended_by_itself(ended)))
}

/// What the provider knows, which is nothing yet, and the Events that wait to be published.
fn world(client: &Client, setup: &Setup) -> (Arc<World>, mpsc::Receiver<events::Happened>) {
    let (queue, machines) = (Queue::default(), Machines::default());
    let clusters = Clusters::new(client.clone(), machines.clone(), queue.clone());
    let (events, waiting) = Events::new();
    let world = World::new(machines, clusters, queue, setup.settings.clone());
    let world = world.with_events(events);
    let world = match setup.infrastructure {
        Some(_) => world.with_hosts(),
        None => world,
    };
    (Arc::new(world), waiting)
}

fn ended_by_itself(ended: Result<(), JoinError>) -> RunError {
    let why = ended.map_or_else(|error| error.to_string(), |()| "it returned".to_owned());
    RunError::Ended(why)
}

/// Processes queued Machines and acts on what it sees.
fn work(
    client: &Client,
    setup: &Setup,
    world: &Arc<World>,
    leads: &watch::Receiver<Lead>,
) -> JoinSet<()> {
    let mut work = JoinSet::new();
    let provision = setup.infrastructure.clone().map(|policy| {
        let world = Arc::clone(world);
        Arc::new(Provision::new(client.clone(), world, policy, leads.clone()))
    });
    if let Some(provision) = &provision {
        provision::start(&mut work, provision, setup.namespace.as_deref());
    }
    watch_all(&mut work, client, setup, world, provision);
    keep::start(&mut work, client, world, leads);
    let worker = Worker::new(
        Arc::clone(world),
        client.clone(),
        setup.extension_config.clone(),
        leads.clone(),
    );
    work.spawn(Arc::new(worker).run());
    work
}

fn port(address: SocketAddr) -> impl Fn(std::io::Error) -> RunError {
    move |error| RunError::Port { address, error }
}

async fn until(mut stopped: watch::Receiver<bool>) {
    // An error means that the sender is gone, which is also a reason to stop.
    let _ = stopped.wait_for(|stopped| *stopped).await;
}

fn watch_all(
    tasks: &mut JoinSet<()>,
    client: &Client,
    setup: &Setup,
    world: &Arc<World>,
    provision: Option<Arc<Provision>>,
) {
    let (namespace, machines, queue) = (
        setup.namespace.clone(),
        world.machines.clone(),
        world.queue.clone(),
    );
    let seeing = Arc::clone(world);
    let seen = move |meta: &ObjectMeta, kind: &ApiResource, on| {
        seeing.answer_near_misses(meta, &kind.api_version, &kind.kind, on);
        if let Some(provision) = &provision {
            provision.core_changed(&kind.kind, meta);
        }
    };
    tasks.spawn(machines::run(
        client.clone(),
        namespace,
        machines,
        queue,
        seen,
    ));
    let (catalogues, of) = (world.catalogues.clone(), Arc::clone(world));
    let changed = move || {
        let waiting = of
            .machines
            .all()
            .into_iter()
            .filter(|machine| machine.asked || machine.in_progress);
        waiting.for_each(|machine| of.queue.add(machine.key()));
    };
    tasks.spawn(catalogue::run(client.clone(), catalogues, changed));
    let clusters = world.clusters.clone();
    tasks.spawn(async move {
        loop {
            clusters.follow();
            tokio::time::sleep(FOLLOW).await;
        }
    });
}

fn keep_certificate(
    tasks: &mut JoinSet<()>,
    client: &Client,
    setup: &Setup,
    current: &Arc<Current>,
) {
    let current = Arc::clone(current);
    match setup.certificate.clone() {
        Certificate::Own(own) => {
            tasks.spawn(tls::follow_secret(client.clone(), own, current));
        }
        Certificate::Given(folder) => {
            tasks.spawn(async move {
                loop {
                    let Err(error) = tls::follow_folder(folder.clone(), Arc::clone(&current)).await;
                    tracing::warn!("{error} careen-provider retries soon.");
                    tokio::time::sleep(FOLLOW).await;
                }
            });
        }
    }
}

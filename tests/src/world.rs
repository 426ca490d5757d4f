//! The world of Cluster API: a control plane, the real managers, infrastructure with a fleet of
//! hosts, and careen-provider.
//!
//! All tests of a program share one world. They run on one runtime, which outlives each test, so
//! that background tasks of the first test also serve the last.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result};
use kube::Client;
use testkit::cluster_api::infrastructure::Infrastructure;
use testkit::cluster_api::{Managers, Version};
use testkit::control_plane::{self, ControlPlane};
use testkit::programs;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::{Mutex, OnceCell, RwLock};

use crate::fleet::Fleet;
use crate::provider_process::ProviderProcess;

/// The world.
pub struct World {
    /// The API server, which contains the management objects and is every Cluster's workload
    /// cluster.
    pub plane: &'static ControlPlane,
    /// The administrator.
    pub client: Client,
    /// The real managers.
    pub managers: Mutex<Managers>,
    /// The hosts.
    pub fleet: Fleet,
    /// careen-provider.
    pub provider: ProviderProcess,
    _infrastructure: Infrastructure,
    /// All Clusters have the same workload API server, and a control plane claims every Node with
    /// that role.
    whole: RwLock<()>,
}

impl World {
    async fn start(version: Version) -> Result<Self> {
        let plane = plane(version).await?;
        let client = plane.client().await?;
        let managers = Managers::start(version, plane).await?;
        let fleet = Fleet::new(plane).await?;
        let infrastructure = Infrastructure::start(client.clone(), fleet.clone()).await?;
        let provider = ProviderProcess::start(plane, &client).await?;
        Ok(Self {
            plane,
            client,
            provider,
            managers: Mutex::new(managers),
            fleet,
            _infrastructure: infrastructure,
            whole: RwLock::new(()),
        })
    }
}

/// Runs a test in the world of this version. The first test starts the world.
///
/// # Errors
/// The error of the test or of the world.
pub fn run<F>(version: Version, test: impl FnOnce(&'static World) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let task = async move {
        let world = world(version).await?;
        let _shared = world.whole.read().await;
        test(world).await
    };
    block_on(task)
}

/// As [`run`], while no other test runs. For tests that add nodes of a control plane, or take the
/// API server away.
///
/// # Errors
/// As [`run`].
pub fn run_alone<F>(version: Version, test: impl FnOnce(&'static World) -> F) -> Result<()>
where
    F: Future<Output = Result<()>>,
{
    let task = async move {
        let world = world(version).await?;
        let _whole = world.whole.write().await;
        test(world).await
    };
    block_on(task)
}

async fn world(version: Version) -> Result<&'static World> {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    WORLD.get_or_try_init(|| World::start(version)).await
}

/// Runs the task on the test's own thread. Its background tasks run on the runtime.
fn block_on(task: impl Future<Output = Result<()>>) -> Result<()> {
    runtime()?.block_on(task)
}

fn runtime() -> Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    let fresh = Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    Ok(RUNTIME.get_or_init(|| fresh))
}

async fn plane(version: Version) -> Result<&'static ControlPlane> {
    static PLANE: OnceCell<ControlPlane> = OnceCell::const_new();
    let start = || async {
        let place = place()?;
        let name = format!("cluster-api-tests-{}-{place}", version.as_str());
        let dir = programs::cache()?.join(name);
        remove(&dir)?;
        control_plane::copy(&new_cluster(place).await?, &dir)?;
        ControlPlane::start(&dir).await
    };
    PLANE.get_or_try_init(start).await
}

/// Allows two runs at the same time on this machine, as `make test` starts them: a run spends most
/// of its time waiting for the managers. The paths are fixed, so that killed runs leave one folder
/// in total and not one folder each. A third run waits until the first ends, in any way.
fn place() -> Result<u8> {
    static HELD: OnceLock<(u8, File)> = OnceLock::new();
    if let Some((place, _)) = HELD.get() {
        return Ok(*place);
    }
    let lock = |place: u8| -> Result<File> {
        let name = format!("cluster-api-tests-{place}.lock");
        Ok(File::create(programs::cache()?.join(name))?)
    };
    let (first, second) = (lock(1)?, lock(2)?);
    let held = if first.try_lock().is_ok() {
        (1, first)
    } else if second.try_lock().is_ok() {
        (2, second)
    } else {
        first.lock()?;
        (1, first)
    };
    Ok(HELD.get_or_init(|| held).0)
}

/// An unused, stopped cluster. A run creates it once for each place and build of Kubernetes,
/// because its keys and kubeadm's phases take most of the start time. It always keeps the port of
/// its API server, so each place has a different port.
async fn new_cluster(place: u8) -> Result<PathBuf> {
    let bin = programs::kubernetes(programs::CONTROL_PLANE)?;
    let build = bin.parent().and_then(Path::file_name);
    let build = build.context("Kubernetes is not in the cache")?;
    let name = format!("new-cluster-{}-{place}", build.to_string_lossy());
    let dir = programs::cache()?.join(&name);
    if !dir.exists() {
        let making = programs::cache()?.join(format!("{name}.new"));
        remove(&making)?;
        ControlPlane::start(&making).await?.stop();
        std::fs::rename(&making, &dir)?;
    }
    Ok(dir)
}

fn remove(dir: &Path) -> Result<()> {
    if dir.exists() {
        std::fs::remove_dir_all(dir).context("an old cluster is in the way")?;
    }
    Ok(())
}

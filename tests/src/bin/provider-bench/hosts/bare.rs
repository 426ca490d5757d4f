//! The floor of memory and processor: a process that does nothing but keep the same objects, as
//! kube's reflector does. It is this program, started with another argument.

use std::path::Path;

use anyhow::{Context, Result};
use careen_tests::measured::{cpu_milliseconds, kib};
use futures::StreamExt;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::runtime::{WatchStreamExt, reflector, watcher};
use kube::{Client, Config, Resource};
use provider::kinds::CareenHost;
use serde::de::DeserializeOwned;
use testkit::process::Process;

use super::objects::SPACE;
use super::scene::Scene;

/// The argument, before the path of a kubeconfig.
pub const ARGUMENT: &str = "--bare-watch";

/// The process. A drop kills it.
pub struct Bare(Process);

impl Bare {
    /// Starts it.
    pub fn start(scene: &Scene) -> Result<Self> {
        let arguments = [
            ARGUMENT.to_owned(),
            scene.plane.admin_kubeconfig().display().to_string(),
        ];
        let log = scene.plane.dir().join("logs/bare-watch.log");
        Process::start(&std::env::current_exe()?, &arguments, &log).map(Self)
    }

    /// Its current memory, in KiB.
    pub fn memory(&self) -> Result<f64> {
        kib(self.0.pid(), "Rss:")
    }

    /// CPU time so far, in milliseconds.
    pub fn processor(&self) -> Result<f64> {
        cpu_milliseconds(self.0.pid())
    }
}

/// What that process does.
pub async fn run(kubeconfig: &str) -> Result<()> {
    let content = Kubeconfig::read_from(Path::new(kubeconfig)).context("no kubeconfig")?;
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let hosts = keep::<CareenHost>(Api::namespaced(client.clone(), SPACE));
    let leases = keep::<Lease>(Api::namespaced(client, SPACE));
    tokio::join!(hosts, leases);
    Ok(())
}

async fn keep<K>(api: Api<K>)
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let (store, writer) = reflector::store();
    let seen = watcher(api, watcher::Config::default()).default_backoff();
    let mut seen = std::pin::pin!(reflector::reflector(writer, seen));
    while seen.next().await.is_some() {}
    drop(store);
}

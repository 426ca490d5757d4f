//! Work that the leader does on its own: a pass over all Machines when it becomes leader, and the
//! status of the catalogues.

use std::sync::Arc;
use std::time::Duration;

use client::patch_by;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Api, Patch};
use kube::{Client, ResourceExt};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

use crate::catalogue::{ImageCatalogue, status};
use crate::lease::Lead;
use crate::names;
use crate::world::World;
use crate::writes::{WriteError, limited};

/// How often each catalogue is compared with its status. This happens in memory unless something
/// has changed.
const LOOK: Duration = Duration::from_secs(2);

/// Starts the leader's tasks.
pub fn start(
    tasks: &mut JoinSet<()>,
    client: &Client,
    world: &Arc<World>,
    leads: &watch::Receiver<Lead>,
) {
    tasks.spawn(count_cordoned(Arc::clone(world), leads.clone()));
    tasks.spawn(look_at_all(Arc::clone(world), leads.clone()));
    tasks.spawn(say_what_resolves(
        client.clone(),
        Arc::clone(world),
        leads.clone(),
    ));
}

/// Samples the cordoned nodes. A cordon shorter than the interval is not worth a metric.
async fn count_cordoned(world: Arc<World>, leads: watch::Receiver<Lead>) {
    loop {
        tokio::time::sleep(LOOK).await;
        if leads.borrow().holds() {
            world.metrics.cordoned(world.cordoned(), LOOK);
        }
    }
}

/// Queues all Machines, because the previous leader may have died between two writes.
async fn look_at_all(world: Arc<World>, mut leads: watch::Receiver<Lead>) {
    loop {
        if leads.borrow_and_update().holds() {
            world
                .machines
                .all()
                .into_iter()
                .for_each(|machine| world.queue.add(machine.key()));
        }
        if leads.changed().await.is_err() {
            // Without a Lease the leadership never changes.
            std::future::pending::<()>().await;
        }
    }
}

async fn say_what_resolves(client: Client, world: Arc<World>, leads: watch::Receiver<Lead>) {
    let api: Api<ImageCatalogue> = Api::all(client);
    let mut said = Vec::new();
    loop {
        let all = world.catalogues.all();
        if leads.borrow().holds() && all != said && say_of_all(&api, &all).await {
            said = all;
        }
        tokio::time::sleep(LOOK).await;
    }
}

/// Whether the status of every catalogue is correct. A catalogue that was written is checked again.
async fn say_of_all(api: &Api<ImageCatalogue>, all: &[ImageCatalogue]) -> bool {
    let mut said = true;
    for catalogue in all {
        if let Err(error) = say(api, catalogue, all).await {
            debug!(catalogue = catalogue.name_any(), "status: {error}");
            said = false;
        }
    }
    said
}

async fn say(
    api: &Api<ImageCatalogue>,
    catalogue: &ImageCatalogue,
    all: &[ImageCatalogue],
) -> Result<(), WriteError> {
    let now = Timestamp::now();
    let now = Timestamp::from_second(now.as_second())
        .unwrap_or(now)
        .to_string();
    let wanted = status(catalogue, all, &now);
    if catalogue.status.as_ref() == Some(&wanted) {
        return Ok(());
    }
    let params = patch_by(names::MANAGER);
    let body = Patch::Merge(json!({ "status": wanted }));
    limited(api.patch_status(&catalogue.name_any(), &params, &body))
        .await
        .map(drop)
}

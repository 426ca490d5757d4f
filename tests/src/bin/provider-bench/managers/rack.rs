//! The hosts of the rig's InfraMachines as far as Cluster API sees them: one Node in the workload
//! cluster for each.

use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Result;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams, PostParams};
use testkit::cluster_api::infrastructure::{Host, Hosts, Order};

use crate::machines::{node_named, provider_id};

/// Conflict: the object already exists. Not found: the object is already gone.
const CONFLICT: u16 = 409;
const NOT_FOUND: u16 = 404;

/// All hosts.
pub struct Rack {
    nodes: Api<Node>,
    booted: AtomicUsize,
}

impl Rack {
    /// An empty rack, for hosts that join this cluster.
    pub fn new(workload: &Client) -> Self {
        Self {
            nodes: Api::all(workload.clone()),
            booted: AtomicUsize::new(0),
        }
    }
}

impl Hosts for Rack {
    async fn boot(&self, order: Order) -> Result<Host> {
        let number = self.booted.fetch_add(1, Ordering::Relaxed);
        let node = node_named(&order.name, number, &order.version);
        let node = serde_json::from_value(node)?;
        let made = self.nodes.create(&PostParams::default(), &node).await;
        unless(CONFLICT, made)?;
        Ok(Host {
            provider_id: provider_id(&order.name),
            address: "127.0.0.1".to_owned(),
        })
    }

    async fn scrap(&self, order: Order) -> Result<()> {
        let how = DeleteParams::default();
        unless(NOT_FOUND, self.nodes.delete(&order.name, &how).await)
    }
}

/// Succeeds when the operation succeeded now or earlier.
fn unless<T>(code: u16, done: kube::Result<T>) -> Result<()> {
    match done {
        Err(kube::Error::Api(status)) if status.code == code => Ok(()),
        Err(error) => Err(error.into()),
        Ok(_) => Ok(()),
    }
}

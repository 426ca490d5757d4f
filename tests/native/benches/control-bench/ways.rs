//! The upgrade of one member, by one of two ways.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;
use native::{Cluster, Images};
use tokio::time::timeout;

use crate::hand;
use crate::host::{Away, Host};

/// Far more than an upgrade takes.
const PATIENCE: Duration = Duration::from_secs(1800);

const LOOK: Duration = Duration::from_millis(100);

/// The request of each member.
const ID: &str = "bench";

/// Who upgrades the members.
pub enum Way {
    /// The agents.
    Careen(Vec<Host>),
    /// A person who knows everything and checks nothing.
    Hand(Arc<Images>),
}

impl Way {
    /// All agents run from the beginning.
    pub fn careen(cluster: &Arc<Cluster>, image: &Arc<Images>, control: &Path) -> Self {
        let away = Arc::new(Away::default());
        let numbers = 0..cluster.members().len();
        Self::Careen(
            numbers
                .map(|number| Host::with_control(cluster, number, image, &away, control.into()))
                .collect(),
        )
    }

    /// Upgrades one member, until it serves with the new version.
    pub async fn upgrade(&mut self, cluster: &Cluster, number: usize) -> Result<()> {
        let client = cluster.client().await?;
        let upgraded = async {
            match self {
                Self::Careen(hosts) => {
                    let host = hosts.get_mut(number).context("no such member")?;
                    by_agent(host, &client).await
                }
                Self::Hand(image) => hand::upgrade(cluster, number, image, &client).await,
            }
        };
        let late = || format!("member {number} is not upgraded within {PATIENCE:?}");
        timeout(PATIENCE, upgraded).await.with_context(late)?
    }
}

async fn by_agent(host: &mut Host, client: &Client) -> Result<()> {
    host.ask(client, ID).await;
    host.reboot().await;
    loop {
        let status = host.status(client).await;
        match status["phase"].as_str().unwrap_or_default() {
            "Upgraded" => return Ok(()),
            "Failed" | "Halted" => bail!("{status}"),
            _ => tokio::time::sleep(LOOK).await,
        }
    }
}

//! Tells the API server about the node and its pods, again and again.

use std::convert::Infallible;
use std::time::Duration;

use anyhow::Result;
use tokio::sync::watch;

use crate::identity;
use crate::mirror;
use crate::node::{self, Facts};
use crate::pods::Shown;
use crate::ready::Ready;

/// The pause between two reports.
const PAUSE: Duration = Duration::from_secs(1);

/// Reports for as long as this program runs. After an error it begins with a new connection, since
/// the credential may have changed.
pub async fn keep(facts: Facts, shown: watch::Receiver<Vec<Shown>>, ready: watch::Receiver<Ready>) {
    let mut said = String::new();
    loop {
        let Err(error) = connected(&facts, &shown, &ready).await;
        let text = format!("{error:#}");
        if text != said {
            eprintln!("cannot report: {text}");
            said = text;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn connected(
    facts: &Facts,
    shown: &watch::Receiver<Vec<Shown>>,
    ready: &watch::Receiver<Ready>,
) -> Result<Infallible> {
    let client = identity::client(&facts.name).await?;
    loop {
        let node = node::keep(&client, facts).await?;
        let (shown, ready) = (shown.borrow().clone(), ready.borrow().clone());
        mirror::keep(&client, &node, &shown, &ready).await?;
        tokio::time::sleep(PAUSE).await;
    }
}

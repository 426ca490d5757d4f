//! Definitions of custom resources, installed and served.

use anyhow::Result;
use kube::Client;
use serde_json::Value;

use super::{objects, probe};

/// Applies definitions and waits until the API server serves them.
///
/// # Errors
///
/// Fails when it refuses one or does not take it up.
pub async fn install(client: &Client, definitions: &[Value]) -> Result<()> {
    objects::apply_all(client, definitions).await?;
    for definition in definitions {
        probe::is_served(client, definition).await?;
    }
    Ok(())
}

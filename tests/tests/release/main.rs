//! The release of careen-provider as it ships, at a real API server: its objects, and its program as its Deployment starts it.
//!
//! Apart from `provider`, for that program takes itself for the one of the whole cluster.

mod objects;
mod pod;
mod program;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use vm_tests::cluster_api::documents;

/// All objects of the release, as `make manifests` has rendered them.
fn shipped() -> Result<Vec<Value>> {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/provider");
    documents(&packaging.join("runtime-extension-components.yaml"))
}

/// The one of this kind.
fn shipped_one(kind: &str) -> Result<Value> {
    let mut all = shipped()?.into_iter();
    let found = all.find(|object| object["kind"] == kind);
    found.with_context(|| format!("the release has no {kind}"))
}

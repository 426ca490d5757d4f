//! The shipped release of careen-provider at a real API server: its objects, and its program as its
//! Deployment starts it.
//!
//! These tests are separate from `provider`, because that program assumes that it manages the whole
//! cluster.

mod objects;
mod pod;
mod program;

use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;
use testkit::cluster_api::documents;

/// All objects of the release, as `make manifests` rendered them.
fn shipped() -> Result<Vec<Value>> {
    let packaging = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/provider");
    documents(&packaging.join("runtime-extension-components.yaml"))
}

/// The object of this kind.
fn shipped_one(kind: &str) -> Result<Value> {
    let mut all = shipped()?.into_iter();
    let found = all.find(|object| object["kind"] == kind);
    found.with_context(|| format!("the release has no {kind}"))
}

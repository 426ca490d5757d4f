//! Builds what a demo needs, the Go programs beside all others.

use std::thread;

use anyhow::{Result, anyhow};
use rig::images;
use testkit::programs;

/// Builds the Kubernetes programs and etcd in one thread, and the images' Debian and our programs
/// in this one. What is in the cache costs nothing.
///
/// With an empty cache the Go builds mostly wait for modules, and mmdebstrap for packages. One Go
/// build runs at a time: two would compile the libraries that they share twice.
///
/// # Errors
///
/// Fails when a build fails.
pub fn prepare() -> Result<()> {
    thread::scope(|scope| {
        let go = scope.spawn(kubernetes);
        let ours = images::prepare();
        let go = go
            .join()
            .map_err(|_| anyhow!("the build of Kubernetes panicked"))?;
        ours.and(go)
    })
}

/// The control plane's minor first: a node's programs of that minor are a part of it.
fn kubernetes() -> Result<()> {
    programs::kubernetes(programs::CONTROL_PLANE)?;
    images::kubernetes()?;
    programs::etcd()?;
    Ok(())
}

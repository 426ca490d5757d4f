//! A stand-in for the kubelet: it runs static pods as processes, without containers.
//!
//! `stand-in-kubelet IMAGES VERSION`, where the program of an image is
//! `IMAGES/<image name>:<tag>/<program>`. Run it in network, mount, UTS and PID namespaces of its
//! own; the host name is the name of its Node.
//!
//! As a kubelet does, it waits for its configuration, makes its credential from the bootstrap
//! token, keeps its Node and its mirror pods with that credential, and leaves its pods running when
//! it ends. Its successor takes them over.

mod file;
mod health;
mod identity;
mod manifests;
mod mirror;
mod node;
mod pods;
mod process;
mod ready;
mod reports;

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tokio::sync::watch;

use pods::Pods;

/// What a kubelet is configured with. Before kubeadm has written it, a kubelet does not run.
const CONFIGURATION: &str = "/var/lib/kubelet/config.yaml";

/// How often it looks at the folder of manifests and at its processes.
const LOOK: Duration = Duration::from_millis(100);

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let (images, version) = arguments()?;
    while !Path::new(CONFIGURATION).exists() {
        tokio::time::sleep(LOOK).await;
    }
    let node = node::Facts::read(version)?;
    tokio::spawn(health::serve(health::listen().await?));
    let (show, shown) = watch::channel(Vec::new());
    let (tell, ready) = watch::channel(ready::Ready::new());
    tokio::spawn(ready::keep(shown.clone(), tell));
    tokio::spawn(reports::keep(node, shown, ready));
    let mut pods = Pods::new(images);
    loop {
        pods.look(&manifests::read()).await;
        show.send_replace(pods.shown());
        tokio::time::sleep(LOOK).await;
    }
}

fn arguments() -> Result<(PathBuf, String)> {
    let given: Vec<_> = std::env::args().skip(1).collect();
    let [images, version] = given.as_slice() else {
        bail!("usage: stand-in-kubelet IMAGES VERSION");
    };
    let images = PathBuf::from(images)
        .canonicalize()
        .with_context(|| format!("no folder of images at {images}"))?;
    Ok((images, version.clone()))
}

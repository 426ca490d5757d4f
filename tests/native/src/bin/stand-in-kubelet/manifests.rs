//! The static pods that the folder of manifests asks for.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Container, Pod};
use sha2::{Digest, Sha256};

const FOLDER: &str = "/etc/kubernetes/manifests";

/// One static pod and what its file contains.
#[derive(Debug, Clone)]
pub struct Manifest {
    /// The pod as in the file.
    pub pod: Pod,
    /// Of the file's bytes. A kubelet hashes the pod that it has read.
    pub digest: String,
}

impl Manifest {
    /// The only container that this stand-in runs.
    pub fn container(&self) -> Option<&Container> {
        self.pod.spec.as_ref()?.containers.first()
    }
}

/// The pods by name. As for a kubelet, a file that is no pod (an empty one) counts as absent, and a
/// file whose name begins with a dot is not read.
pub fn read() -> BTreeMap<String, Manifest> {
    let Ok(entries) = fs::read_dir(FOLDER) else {
        return BTreeMap::new();
    };
    entries
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .filter_map(|entry| parse(&entry.path()).ok())
        .collect()
}

fn parse(path: &Path) -> Result<(String, Manifest)> {
    let text = fs::read_to_string(path)?;
    let pod: Pod = serde_saphyr::from_str(&text)?;
    let name = pod.metadata.name.clone().context("a pod without a name")?;
    pod.spec.as_ref().context("a pod without a spec")?;
    let digest = hex::encode(&Sha256::digest(&text)[..16]);
    Ok((name, Manifest { pod, digest }))
}

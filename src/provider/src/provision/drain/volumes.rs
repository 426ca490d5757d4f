//! The volumes of pods, and where they are attached.

use infrastructure::{Attachment, PodToGo, Volume};
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::Client;
use kube::api::{Api, ListParams};

use super::list::list;
use crate::clusters::Size;
use crate::writes::{WriteError, provision as write};

/// The most VolumeAttachments that a cluster is expected to have.
const MOST: usize = 100_000;

/// The volumes of a pod. A claim that is gone or has no volume is left out.
pub(super) async fn of(client: &Client, pod: &PodToGo) -> Result<Vec<Volume>, WriteError> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &pod.space);
    let mut volumes = Vec::new();
    for claim in &pod.claims {
        let (_, name) = claim.split_once('/').unwrap_or_default();
        let found = write::read(&claims, name).await?;
        let bound = found.and_then(|found| found.spec?.volume_name);
        volumes.extend(bound.map(|name| Volume {
            claim: claim.clone(),
            name,
        }));
    }
    Ok(volumes)
}

impl Size for Attachment {
    fn size(&self) -> usize {
        size_of::<Self>() + self.volume.len()
    }
}

/// Where the volumes of the cluster are attached.
pub(super) async fn attached(client: &Client, node: &str) -> Result<Vec<Attachment>, WriteError> {
    let api: Api<VolumeAttachment> = Api::all(client.clone());
    let attachment = |found: VolumeAttachment| {
        Some(Attachment {
            volume: found.spec.source.persistent_volume_name?,
            here: found.spec.node_name == node,
            attached: found.status.is_some_and(|status| status.attached),
        })
    };
    list(&api, ListParams::default(), MOST, attachment).await
}

//! Whether a CSI volume is still attached, by its `VolumeAttachment`. The Node does not show it:
//! the attach-detach controller takes a volume out of `volumesAttached` before it begins to detach
//! it (kubernetes, pkg/controller/volume/attachdetach/reconciler,
//! `RemoveVolumeFromReportAsAttached`). The attachment goes when the driver has detached the
//! volume.

use k8s_openapi::api::storage::v1::VolumeAttachment;
use kube::Client;
use kube::api::Api;
use kube::core::{ApiResource, Object};
use serde::Deserialize;
use sha2::{Digest as _, Sha256};

use crate::cluster::{ApiError, limited};

/// Begins the name of a CSI volume in the status of a Node.
const CSI: &str = "kubernetes.io/csi/";

/// An attachment, of which only its existence matters.
type Attachment = Object<Ignored, Ignored>;

#[derive(Clone, Debug, Default, Deserialize)]
struct Ignored {}

/// The volume's name in the status of a Node (kubernetes, `GetUniqueVolumeNameFromSpec`).
pub(super) fn csi_volume(driver: &str, handle: &str) -> String {
    format!("{CSI}{driver}^{handle}")
}

/// The name of the volume's attachment (kubernetes, pkg/volume/csi, `getAttachmentName`). `None`
/// for a volume without a CSI driver.
fn attachment(volume: &str, node: &str) -> Option<String> {
    let (driver, handle) = volume.strip_prefix(CSI)?.split_once('^')?;
    let digest = Sha256::digest(format!("{handle}{driver}{node}"));
    Some(format!("csi-{}", hex::encode(digest)))
}

/// Whether the volume still has an attachment. A volume without a CSI driver has none.
///
/// A kubelet may read the attachments of its own node. The Node authorizer answers a GET of one
/// that is gone with 403.
pub(super) async fn has_attachment(
    client: &Client,
    volume: &str,
    node: &str,
) -> Result<bool, ApiError> {
    let Some(name) = attachment(volume, node) else {
        return Ok(false);
    };
    let kind = ApiResource::erase::<VolumeAttachment>(&());
    let attachments: Api<Attachment> = Api::all_with(client.clone(), &kind);
    match limited(attachments.get(&name)).await {
        Ok(_) => Ok(true),
        Err(ApiError::Missing | ApiError::Refused(_) | ApiError::Unfit(_)) => Ok(false),
        Err(error @ (ApiError::Away(_) | ApiError::Conflict | ApiError::Blocked(_))) => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The expected name is `printf volume-1disk.examplenode1 | sha256sum`.
    #[test]
    fn csi_attachment_has_the_name_that_kubernetes_gives() {
        let volume = csi_volume("disk.example", "volume-1");
        assert_eq!(volume, "kubernetes.io/csi/disk.example^volume-1");
        let name = "csi-b932c59aab0b287603ebd5d7c7837b456d56b439a9f1e1af225229050711cca1";
        assert_eq!(attachment(&volume, "node1").as_deref(), Some(name));
        assert_eq!(attachment("kubernetes.io/nfs/share", "node1"), None);
    }
}

//! The node's own pods, as the kubelet's credential may list them.

use std::fmt::Debug;

use client::pods as pods_of;
use kube::api::ListParams;
use kube::core::{ApiResource, DynamicResourceScope};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;

use crate::cluster::{ApiError, limited};

/// How many pods one list request returns. A node usually has a hundred. Finished pods that nobody
/// removes may be thousands, and a pod is tens of kilobytes on the wire.
const PAGE: u32 = 100;

/// What the agent keeps of all pods of the node, page by page.
pub(crate) async fn own_pods<K, F>(
    client: &Client,
    node: &str,
    keep: impl Fn(&[K]) -> Vec<F>,
) -> Result<Vec<F>, ApiError>
where
    K: Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>,
    K: Clone + Debug + DeserializeOwned,
{
    // The Node authorizer allows this list only with exactly this selector.
    let own = ListParams::default().fields(&format!("spec.nodeName={node}"));
    let (api, mut page) = (pods_of::<K>(client.clone()), own.clone().limit(PAGE));
    let mut found = Vec::new();
    loop {
        let pods = limited(api.list(&page)).await?;
        found.extend(keep(&pods.items));
        match pods.metadata.continue_.filter(|next| !next.is_empty()) {
            Some(next) => page = own.clone().limit(PAGE).continue_token(&next),
            None => return Ok(found),
        }
    }
}

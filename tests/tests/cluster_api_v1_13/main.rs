//! The same tests with the older supported minor, except `order`, `in_memory` and `hurt`. `order`
//! tests the start of core. Nodes of the in-memory provider report no kubelet version in that minor
//! (v1.13.4), so none of its Machines would ever serve.

#[path = "../cluster_api/adopted.rs"]
mod adopted;
#[path = "../cluster_api/adversity.rs"]
mod adversity;
#[path = "../cluster_api/annotation.rs"]
mod annotation;
#[path = "../cluster_api/control_plane.rs"]
mod control_plane;
#[path = "../cluster_api/hooks.rs"]
mod hooks;
#[path = "../cluster_api/image.rs"]
mod image;
#[path = "../cluster_api/managers.rs"]
mod managers;
#[path = "../cluster_api/many.rs"]
mod many;
#[path = "../cluster_api/never.rs"]
mod never;
#[path = "../cluster_api/refusing.rs"]
mod refusing;
#[path = "../cluster_api/replicas.rs"]
mod replicas;
#[path = "../cluster_api/scene.rs"]
mod scene;
#[path = "../cluster_api/template.rs"]
mod template;
#[path = "../cluster_api/walk.rs"]
mod walk;
#[path = "../cluster_api/width.rs"]
mod width;

use testkit::cluster_api::Version;

/// The minor that this program runs.
const VERSION: Version = Version::V1_13;

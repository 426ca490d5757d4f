//! The same with the older minor that is supported: the walk, what holds it, and the wide rollouts. What goes wrong around it, and
//! other shapes, are the newest one's.

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
#[path = "../cluster_api/scene.rs"]
mod scene;
#[path = "../cluster_api/walk.rs"]
mod walk;

use vm_tests::cluster_api::Version;

/// What this program runs.
const VERSION: Version = Version::V1_13;

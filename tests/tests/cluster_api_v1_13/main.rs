//! The same walk with the older minor that is supported; the wide runs are the newest one's.

#[path = "../cluster_api/managers.rs"]
mod managers;
#[path = "../cluster_api/scene.rs"]
mod scene;
#[path = "../cluster_api/walk.rs"]
mod walk;

use vm_tests::cluster_api::Version;

/// What this program runs.
const VERSION: Version = Version::V1_13;

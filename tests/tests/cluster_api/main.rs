//! The real Cluster API managers of the newest minor, with hosts of a fleet and the real agent's
//! loop on each.

mod adopted;
mod adversity;
mod annotation;
mod control_plane;
mod hooks;
mod hurt;
mod image;
mod in_memory;
mod managers;
mod many;
mod never;
mod order;
mod refusing;
mod replicas;
mod scene;
mod template;
mod walk;
mod width;

use testkit::cluster_api::Version;

/// The minor that this program runs.
const VERSION: Version = Version::NEWEST;

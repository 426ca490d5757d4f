//! The container images that a system carries with it, for nodes without a registry. They are in
//! its folder [`upgrade::names::CARRIED_IMAGES`], as archives that containerd can import.
//!
//! - `archive`: the names of the images in an archive.
//! - `archives`: those of a folder.
//! - `import`: brings them to the container runtime.

mod archive;
mod archives;
mod import;

pub use archives::{Archive, archives};
pub use import::{Importer, NotImported};

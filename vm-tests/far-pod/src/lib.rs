//! What a pod in a guest and the rig on the host tell each other, and at which addresses a
//! component of a control plane listens.
//!
//! The program `far-pod` is in the images of the components instead of the real programs, which are
//! too slow under emulation. It has no dependency that is slow to start.

mod listens;
mod wire;

pub use listens::listens;
pub use wire::{Message, receive, send};

/// The environment variable with the address of the rig.
pub const RIG: &str = "FAR_POD_RIG";

/// The environment variable with the pod's own image, as `kube-apiserver:v1.36.3`.
pub const IMAGE: &str = "FAR_POD_IMAGE";

/// The folder that a component reads. The rig gives its content to the real program.
pub const FOLDER: &str = "/etc/kubernetes";

//! Far pods: the programs of a control plane whose pods are in the guest.
//!
//! A whole control plane is too slow under emulation: its API server gives itself up before it is
//! ready. So the images of its components have a small program (`vm-tests/far-pod`) that has the
//! rig run the real program here, and forwards its ports. The kubelet, the container runtime,
//! kubeadm, manifests, probes and files are real and in the guest. So is etcd, whose data must see
//! the guest's power cuts. When the guest loses its power, the connections of its pods end, and
//! their programs are killed at once.
//!
//! The programs have a network of their own, in which loopback and the guest's address are theirs.
//! So they find each other as in the guest, and what is in the guest through [`Far::lead`].

mod carried;
mod host;
mod images;
mod network;
mod own;
mod program;
mod serve;
mod session;
mod shared;

pub use host::Far;
pub use images::{Images, MINORS, prepare};
pub use own::Own;
pub use shared::Programs;

//! A kubeadm control plane as processes of this machine, with one member or several, for tests of
//! what Careen does to control planes.
//!
//! What is real: kubeadm (`init`, and `join --control-plane` with certificates from the cluster),
//! its files below /etc/kubernetes and /var/lib/kubelet, and the programs that its manifests start:
//! etcd (TLS, quorum, fsync), API server, controller manager and scheduler. Each member has
//! network, mount, UTS, IPC and PID namespaces, so its power can be cut and its network taken away.
//!
//! What is not: a small stand-in runs static pods as processes instead of a kubelet. There is no
//! container, no runtime, no probe but the readiness in a pod's status, no other pod, and no reboot
//! of a kernel. A power cut loses nothing that the host's page cache has. All members share the
//! host's kernel, clock and file system, which they cannot write outside /etc, /var and /run. The
//! load balancer before the API servers is a few lines of this crate. An external etcd runs in the
//! network of the members, and is not on any of them.
//!
//! It needs root, util-linux and iproute2. Dropping a [`Cluster`] ends all its processes and
//! removes its files. A test that is killed leaves no process either, but its folder `native-*` in
//! the folder for temporary files. Nothing touches the host's /etc, /var or network, except ports
//! on loopback. Do not use it in production: the tokens and keys of joins are in this source.

mod answers;
mod built;
mod cluster;
mod configuration;
mod counter;
mod door;
mod images;
mod inside;
mod member;
mod namespaces;
mod network;
mod outside;
mod stand_in;
mod until;

pub use answers::{Etcd, is_ready};
pub use built::built;
pub use cluster::Cluster;
pub use counter::Counter;
pub use images::Images;
pub use member::Member;
pub use outside::Outside;
pub use until::until;

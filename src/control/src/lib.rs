//! Looks at a kubeadm control plane from one of its nodes, and raises it. One verb per run.
//!
//! `careen-control survey` runs as root on a control-plane node. It reads /etc/kubernetes, asks the
//! API server with admin.conf, and asks etcd with the client certificate that kubeadm itself uses
//! (pki/etcd/healthcheck-client). It prints what an upgrade of this control plane would meet, and
//! ends. `careen-control raise` runs the kubeadm of another version.
//!
//! This is a program of its own because of these credentials. They open the whole cluster. The agent
//! runs for weeks with the kubelet's credential and does not have them; this process has them for
//! some seconds. No key or certificate is printed, logged or stored.
//!
//! - `folder`: the files of the node, below a root that tests choose.
//! - `manifests`, `certificates`, `room`: what the node itself says.
//! - `etcd`: what the members say, over etcd's JSON gateway.
//! - `api`: what the cluster says, over the API server.
//! - `kubeadm`, `rendered`, `drift`: what kubeadm would write, against what is there.
//! - `look`: puts them together into a [`upgrade::control_plane::Survey`].
//! - `raise`: the run of a new kubeadm, and what makes it safe.
//! - `render`: the survey for a person and for a program.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod api;
mod certificates;
mod cluster;
mod drift;
pub mod etcd;
mod folder;
mod kubeadm;
mod look;
mod manifests;
mod raise;
mod render;
mod rendered;
mod room;

pub use folder::Folder;
pub use look::{NoControlPlane, Order, survey};
pub use raise::{RaiseOrder, give_up, raise};
pub use render::{exit_code, json, text};

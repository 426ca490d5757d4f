//! Looks at a kubeadm control plane from one of its nodes, prepares its upgrade, and raises
//! it. One verb per run.
//!
//! `careen-control` runs as root on a control-plane node. It reads /etc/kubernetes, asks the API
//! server with admin.conf, and asks etcd with the client certificate that kubeadm itself uses
//! (pki/etcd/healthcheck-client). It prints its answer, and ends.
//!
//! | verb | credential | writes |
//! |---|---|---|
//! | `survey` | both | nothing |
//! | `lock`, `unlock` | admin.conf | the Lease kube-system/careen-control-plane |
//! | `save` | etcd's, and the kubelet's for kubeadm-config | /var/lib/careen/etcd |
//! | `yield` | etcd's, and the kubelet's for kubeadm-config | which member leads |
//!
//! This is a program of its own because of these credentials. They open the whole cluster. The
//! agent runs for weeks with the kubelet's credential and does not have them; this process has them
//! for some seconds. No key or certificate is printed, logged or stored.
//!
//! - `folder`: the files of the node, below a root that tests choose.
//! - `node`, `manifests`, `certificates`, `room`: what the node itself says.
//! - `etcd`: what the members say, over etcd's JSON gateway; `own`: the one of this node.
//! - `connect`: a client of the API server; `api`: what the cluster says; `mirrors`: its static pods.
//! - `kubeadm`, `rendered`, `drift`: what kubeadm would write, against what is there; `by_hand`:
//!   the same without a kubeadm of the pods' version.
//! - `look`: puts them together into a [`upgrade::control_plane::Survey`].
//! - `stacked`: whether the member of this node is kubeadm's.
//! - `lease`, `leases`, `lock`: who may change the control plane.
//! - `save`: a snapshot of etcd. `leadership`: another member leads.
//! - `carried`: the container images that the new system has with it.
//! - `raise`: the run of a new kubeadm, and what makes it safe.
//! - `render`: the survey for a person and for a program.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod api;
mod by_hand;
pub mod carried;
mod certificates;
mod cluster;
mod connect;
mod drift;
pub mod etcd;
mod folder;
mod image;
mod kubeadm;
mod leadership;
mod lease;
mod leases;
mod lock;
mod look;
mod manifests;
mod mirrors;
mod node;
mod own;
mod patches;
mod raise;
mod render;
mod rendered;
mod room;
mod save;
mod stacked;

pub use folder::Folder;
pub use image::Image;
pub use leadership::r#yield;
pub use lock::{lock, unlock};
pub use look::{Order, survey};
pub use node::NoControlPlane;
pub use raise::{RaiseOrder, give_up, raise};
pub use render::{exit_code, json, text};
pub use save::{Order as SaveOrder, save};

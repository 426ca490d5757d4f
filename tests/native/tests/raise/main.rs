//! `careen-control raise` on a real kubeadm control plane: to the end, cut, and failing.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod one;
mod plane;
mod three;

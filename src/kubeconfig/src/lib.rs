//! A kubeconfig as client-go takes it: which proxy leads to the API server, and kube's settings with that proxy.
//!
//! kube looks for a proxy by itself, but holds NO_PROXY against the proxy's own address in place of the server's, and refuses a whole
//! kubeconfig for one comma too many in it (kube-client 5.0, config/file_loader.rs and no_proxy.rs). So kube's own reading of the
//! environment is not used here at all.

#![deny(clippy::wildcard_enum_match_arm)]

mod address;
mod decide;
mod exceptions;
mod load;

pub use address::BadProxy;
pub use decide::{Variables, decide};
pub use load::{Error, config, inferred};

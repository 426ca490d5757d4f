//! The update extension that Cluster API calls. It answers at once from watched state.
//!
//! The contract has traps; each has a test in `tests/hooks`. Any answer that is not a clear yes has
//! a form that core cannot take for "done" or for "replace it": [`wire::Response`] has no other
//! forms.

mod allow;
mod can_update;
mod connection;
mod diff;
mod discovery;
mod fields;
mod idle;
mod image;
mod pairs;
mod patch;
mod refusal;
mod route;
mod serve;
mod unready;
mod update;
mod wire;

pub use allow::NotInPlace;
pub use can_update::{Judged, Rules, image_of, judge};
pub use diff::{Change, changes};
pub use image::ACCEPTED as ACCEPTED_IMAGE;
pub use patch::{Patch, PatchType, patch};
pub use refusal::Refusal;
pub use route::{Hook, Reply, answer, hook_of};
pub use serve::{Limits, Listening, serve};
pub use unready::Unready;
pub use wire::{Object, Request, Response};

/// The version of the hooks that the provider implements.
pub const API_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

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
pub(crate) mod hook;
pub(crate) mod http_response;
mod idle;
mod image;
mod limits;
mod pairs;
pub(crate) mod patch;
mod refusal;
mod route;
pub(crate) mod rules;
mod serve;
mod unready;
mod update;
mod wire;

pub use allow::NotInPlace;
pub use can_update::{Judged, image_of, judge};
pub use diff::{Change, changes};
pub use hook::{API_VERSION, Hook};
pub use http_response::HttpResponse;
pub use image::ACCEPTED as ACCEPTED_IMAGE;
pub use limits::Limits;
pub use patch::{Patch, PatchType, patch};
pub use refusal::Refusal;
pub use route::{answer, hook_of};
pub use rules::Rules;
pub use serve::{Listening, serve};
pub use unready::Unready;
pub use wire::{Object, Request, Response};

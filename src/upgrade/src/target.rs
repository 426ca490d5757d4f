//! What a request asks for: a parsed image reference. [`request`] has the annotations.

mod reference;
pub mod request;

pub(crate) use reference::is_remote;
pub use reference::{
    ACCEPTED_IMAGE, ACCEPTED_WANTED, Branch, Source, Target, Wanted, is_reference,
};
pub use request::{RawRequest, Request};

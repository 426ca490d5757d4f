//! What to write to a Node, and whether to write it: pure functions of the Node as it was read.

mod ask;
mod cancel;
mod errand;
mod memory;
mod patch;
mod retry;
mod undo;
mod wish;

use k8s_openapi::jiff::Timestamp;
use upgrade::{Malformed, UpgradeId};

pub use ask::upgrade;
pub use cancel::cancel;
pub use errand::{Aim, Errand};
pub use memory::is_image;
pub use patch::{asking, pausing, questioning, unquestioning, withdrawing};
pub use undo::{Rollback, undone};
pub use wish::{Turn, Wish, Wishless};

/// An id for a request made now. One person does not send two requests to one node in a
/// millisecond. Of two people the API server accepts the first.
///
/// # Errors
/// Never in practice: the generated id always has the accepted form.
pub fn new_id(now: Timestamp) -> Result<UpgradeId, Malformed> {
    let millisecond = now.as_millisecond().rem_euclid(1000);
    format!("k-{}-{millisecond:03}", now.strftime("%Y%m%dT%H%M%S")).parse()
}

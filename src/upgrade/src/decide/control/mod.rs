//! What an upgrade does with the control plane of its node, besides what it does on a worker.
//!
//! The lock of the control plane is taken before anything changes, and released after this node's
//! part is seen well. In between, each step that other members would feel follows a fresh look at
//! all of them.
//!
//! - `before`: the looks, the lock, the snapshot, the raise and the move of the leadership.
//! - `after`: whether this node's part is well, and the release of the lock.
//! - `ended`: what the answers of careen-control mean for the record.
//! - `pace`: how long a look counts, and when the next one is due.
//! - `patience`: how long an upgrade waits before it ends.
//!
//! On a worker each function here answers that nothing is due.

mod after;
mod before;
mod ended;
mod pace;
mod patience;

pub(super) use after::{before_the_blessing, before_the_release, before_the_way_back};
pub(super) use after::{give_up_the_raise, note_the_release, unlock};
pub(super) use before::{before_the_arming, before_the_deployment, before_the_drain, is_stale};
pub(super) use before::{must_go_on, raise};
pub(super) use ended::{done, go_on_without};

//! A prepared host: performs what [`life::decide`] decides.
//!
//! Every effect takes the folders that it works on, the disk that it writes to and the machine that
//! it acts on, so tests cut the power at each change. Each change is on the disk when its function
//! returns.
#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

pub mod agent;
pub mod api;
pub mod apply;
pub mod check;
pub mod clean;
pub mod control_plane;
pub mod disk;
pub mod error;
pub mod facts;
pub mod fence;
pub mod folder;
pub mod hands;
pub mod identity;
pub mod join;
pub mod kubernetes;
pub mod ledger;
pub mod leftovers;
pub mod machine;
pub mod mountinfo;
pub mod pass;
pub mod paths;
pub mod pristine;
pub mod settings;
pub mod store;
pub mod trusted;
pub mod turn;

pub use disk::{Disk, OnDisk, Owner};
pub use error::{Error, Result};
pub use hands::Hands;
pub use machine::{Ended, Machine};
pub use pass::{Host, Passed, Told};
pub use paths::Paths;
pub use store::Store;

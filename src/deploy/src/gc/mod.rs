//! What careen-deploy removes, one file a kind of thing.
//!
//! The verbs [`clean`] and [`undo`] and the note [`unfinished`] call the others. [`sweep`] has libostree
//! clean up, past what hinders it. Each other file is named by what it removes, except
//! `previous_menu`, which keeps what libostree removes.

pub mod clean;
mod half_written;
mod kernels;
pub mod layers;
mod orphans;
pub mod partial_pulls;
mod previous_menu;
mod refs;
pub mod sweep;
pub mod undo;
pub mod unfinished;

pub use refs::is_gone;

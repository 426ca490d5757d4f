//! What careen-deploy removes, one file per kind of object.
//!
//! The verbs [`clean`] and [`undo`] and the note [`unfinished`] call the others. [`sweep`] runs
//! libostree's clean-up and removes what blocks it. Each other file has the name of what it
//! removes, except `previous_menu`, which keeps what libostree removes.

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

//! GRUB: the menu that it reads, the one-shot in its environment block, and what it can write.

mod block;
pub(super) mod env;
pub mod fitness;
pub mod generate;
pub(super) mod menu;
pub mod script;
mod storage;
mod words;

pub use block::{Grubenv, LENGTH, NEXT_ENTRY};

use upgrade::Deployment;

use crate::Places;
use crate::error::Result;

/// Boots a deployment once. Its position moves with every deployment, so it is looked up here.
pub(super) fn arm(places: &Places, deployment: &Deployment) -> Result<()> {
    let position = menu::position(places, deployment)?;
    env::write_next_entry(&places.grubenv(), Some(position))
}

//! One sentence about Careen, tried on a machine.

use anyhow::Result;
use futures::future::BoxFuture;

use crate::images::DiskKind;
use crate::rig::Rig;

/// A scenario. Its name is its sentence, with dashes.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// Of the fixed core that every change must pass.
    pub core: bool,
    /// The disk that the node boots from.
    pub disk: DiskKind,
    /// The images it asks for; built before its clock starts.
    pub images: &'static [&'static str],
    /// What is done; an error says what was found instead.
    pub run: for<'a> fn(&'a mut Rig) -> BoxFuture<'a, Result<()>>,
}

//! One claim about Careen, tested on a machine.

use anyhow::Result;
use futures::future::BoxFuture;
use rig::Rig;
use rig::images::DiskKind;

/// A scenario. Its name is its claim, with dashes.
#[derive(Clone, Copy)]
pub struct Scenario {
    /// The name on the command line.
    pub name: &'static str,
    /// Whether it belongs to the fixed core that every change must pass.
    pub core: bool,
    /// The disk that the node boots from.
    pub disk: DiskKind,
    /// The images it requests. They are built before its clock starts.
    pub images: &'static [&'static str],
    /// The test itself. An error says what it found instead.
    pub run: for<'a> fn(&'a mut Rig) -> BoxFuture<'a, Result<()>>,
}

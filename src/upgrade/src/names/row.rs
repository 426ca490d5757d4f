//! One row of the reference table.

/// The kind of thing that has the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// An annotation on the Node.
    Annotation,
    /// A label on the Node.
    Label,
    /// A condition type on the Node.
    Condition,
    /// A systemd unit.
    Unit,
    /// A path on the node.
    Path,
    /// An argument on the kernel command line.
    KernelArgument,
    /// A ref in the node's OSTree repository.
    Ref,
    /// A key in the origin file of a deployment.
    OriginKey,
}

/// One row of the reference table.
#[derive(Clone, Copy, Debug)]
pub struct Name {
    /// The name itself.
    pub name: &'static str,
    /// The kind of thing that has the name.
    pub kind: Kind,
    /// The only writer.
    pub writer: &'static str,
    /// The readers.
    pub reader: &'static str,
    /// The accepted values, for display.
    pub values: &'static str,
}

pub(super) const fn unit(name: &'static str, when: &'static str) -> Name {
    row(name, Kind::Unit, "image", "systemd", when)
}

pub(super) const fn row(
    name: &'static str,
    kind: Kind,
    writer: &'static str,
    reader: &'static str,
    values: &'static str,
) -> Name {
    Name {
        name,
        kind,
        writer,
        reader,
        values,
    }
}

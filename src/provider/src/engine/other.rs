//! Another Machine, to name to a person.

/// Another Machine of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The Machine's name.
    pub machine: String,
    /// The Node's name.
    pub node: String,
}

//! The packages that a list names.

use std::collections::BTreeMap;

/// One installed package.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed {
    /// Its version.
    pub version: String,
    /// Its installed size in bytes.
    pub bytes: u64,
}

/// Packages by name.
pub type List = BTreeMap<String, Installed>;

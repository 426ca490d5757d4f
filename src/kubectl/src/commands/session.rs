//! The context of every command.

use crate::api::Cluster;
use crate::cli::Format;
use crate::console::Console;

/// The API server, the reader's console, and the requested format.
pub struct Session<'a> {
    pub(super) cluster: Cluster,
    pub(super) console: &'a mut Console,
    pub(super) format: Option<Format>,
}

impl Session<'_> {
    /// Whether the output is text for people.
    pub(super) const fn is_for_people(&self) -> bool {
        match self.format {
            None | Some(Format::Wide) => true,
            Some(Format::Json | Format::Yaml) => false,
        }
    }
}

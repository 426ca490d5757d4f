//! Renders views as text: pure functions of the data, the time, and the reader's screen.

pub mod explain;
pub mod history;
pub mod host;
pub mod lock;
mod look;
pub mod outcome;
pub mod plan;
pub mod report;
mod size;
pub mod status;
pub mod table;

use serde::Serialize;

pub use look::{Look, Tone};

use crate::cli::Format;
use crate::failure::Failure;

/// Data as JSON or YAML, or the given text if neither was requested.
///
/// # Errors
/// If it cannot be rendered, which would be a bug.
pub fn formatted<T: Serialize>(
    format: Option<Format>,
    data: &T,
    text: impl FnOnce(bool) -> String,
) -> Result<String, Failure> {
    let ours =
        |error: &dyn std::error::Error| Failure::Write(std::io::Error::other(error.to_string()));
    match format {
        None => Ok(text(false)),
        Some(Format::Wide) => Ok(text(true)),
        Some(Format::Json) => serde_json::to_string_pretty(data)
            .map(|text| text + "\n")
            .map_err(|error| ours(&error)),
        Some(Format::Yaml) => serde_saphyr::to_string(data).map_err(|error| ours(&error)),
    }
}

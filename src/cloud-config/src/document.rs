//! The YAML document. Keys are looked at before values, so that a refusal has a name.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::commands::Command;
use crate::files::{FIELDS, Written};
use crate::refused::Refused;

/// The top-level keys that a host can carry out.
const KEYS: [&str; 3] = ["bootcmd", "runcmd", "write_files"];

#[derive(Debug, Deserialize)]
pub(crate) struct Document {
    pub(crate) bootcmd: Option<Vec<Command>>,
    pub(crate) write_files: Option<Vec<Written>>,
    pub(crate) runcmd: Option<Vec<Command>>,
}

/// The names of the fields of each file.
#[derive(Deserialize)]
struct Outline {
    write_files: Option<Vec<BTreeMap<String, IgnoredAny>>>,
}

pub(crate) fn parse(text: &str, ignore: &[String]) -> Result<Document, Refused> {
    let keys: Option<BTreeMap<String, IgnoredAny>> =
        serde_saphyr::from_str(text).map_err(|error| not_yaml(&error))?;
    let keys = keys.unwrap_or_default();
    let is_known = |key: &&String| KEYS.contains(&key.as_str()) || ignore.contains(key);
    if let Some(name) = keys.keys().find(|key| !is_known(key)) {
        return Err(Refused::Key { name: shown(name) });
    }
    if keys.is_empty() {
        return Err(Refused::NoKubeadm);
    }
    fields(text)?;
    serde_saphyr::from_str(text).map_err(|error| bad_form(&error))
}

fn fields(text: &str) -> Result<(), Refused> {
    let outline: Outline = serde_saphyr::from_str(text).map_err(|error| bad_form(&error))?;
    for (at, file) in outline.write_files.unwrap_or_default().iter().enumerate() {
        let is_unknown = |field: &&String| !FIELDS.contains(&field.as_str());
        if let Some(field) = file.keys().find(is_unknown) {
            let field = shown(field);
            return Err(Refused::Field { at, field });
        }
    }
    Ok(())
}

/// A key can be any text.
fn shown(name: &str) -> String {
    let plain = |letter: char| if letter.is_control() { '?' } else { letter };
    name.chars().take(64).map(plain).collect()
}

fn place(error: &serde_saphyr::Error) -> (u64, u64) {
    let place = error.location();
    place.map_or((0, 0), |place| (place.line(), place.column()))
}

fn not_yaml(error: &serde_saphyr::Error) -> Refused {
    let (line, column) = place(error);
    Refused::Yaml { line, column }
}

fn bad_form(error: &serde_saphyr::Error) -> Refused {
    let (line, column) = place(error);
    Refused::Form { line, column }
}

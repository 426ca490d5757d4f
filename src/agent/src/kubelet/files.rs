//! The files of the kubelet's configuration.

use std::io::ErrorKind;
use std::path::Path;

use serde_json::Value;

/// What the kubelet reads.
pub(super) const CONFIG: &str = "var/lib/kubelet/config.yaml";

/// A file of YAML, or `None` if it does not exist.
pub(super) fn read(file: &Path) -> Result<Option<Value>, String> {
    let cannot = |error: String| format!("cannot read {}: {error}", file.display());
    match std::fs::read_to_string(file) {
        Ok(text) => one(&text).map(Some).map_err(cannot),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot(error.to_string())),
    }
}

/// The one document in a text of YAML.
pub(super) fn one(text: &str) -> Result<Value, String> {
    let all = serde_saphyr::from_multiple::<Value>(text);
    let all = all.map_err(|error| error.to_string())?;
    let first = all.into_iter().find(|document| !document.is_null());
    first.ok_or_else(|| "it is empty".to_owned())
}

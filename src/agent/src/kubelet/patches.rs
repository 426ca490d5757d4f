//! The node's patches for kubeadm: which files of the folder count, and what they do to the
//! kubelet's configuration (kubernetes v1.35 and v1.36, cmd/kubeadm/app/util/patches).

use std::fs;
use std::path::{Path, PathBuf};

use host::patches::{files, folder};
use serde::Deserialize;
use serde_json::Value;

/// The target of the patches for the kubelet's configuration.
const TARGET: &str = "kubeletconfiguration";
/// What kubeadm reads.
const EXTENSIONS: [&str; 2] = ["json", "yaml"];

/// How a patch changes its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// RFC 6902.
    Json,
    /// RFC 7386.
    Merge,
    /// As a merge patch: no list of the kubelet's configuration has a merge key.
    Strategic,
}

/// One patch of the kubelet's configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Patch {
    file: PathBuf,
    kind: Kind,
    text: Value,
}

/// The patches of the kubelet's configuration in that folder, in kubeadm's order.
///
/// # Errors
/// As [`host::patches::folder`], or kubeadm would refuse a file.
pub fn of(root: &Path, policy: &str) -> Result<Vec<Patch>, String> {
    let Some(folder) = folder(root, policy)? else {
        return Ok(Vec::new());
    };
    let mut patches = Vec::new();
    for file in files(&folder)? {
        if let Some(kind) = kind(&file)? {
            let texts = read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            patches.extend(texts.into_iter().map(|text| Patch {
                file: file.clone(),
                kind,
                text,
            }));
        }
    }
    Ok(patches)
}

/// How the file patches the kubelet's configuration; `None` if it is for something else.
fn kind(file: &Path) -> Result<Option<Kind>, String> {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let ends = name
        .rsplit_once('.')
        .is_some_and(|(_, end)| EXTENSIONS.contains(&end));
    let Some(rest) = name.strip_prefix(TARGET).filter(|_| ends) else {
        return Ok(None);
    };
    let suffix = rest.find(['.', '+']).unwrap_or(rest.len());
    let Some(kind) = rest[suffix..].strip_prefix('+') else {
        return Ok(Some(Kind::Strategic));
    };
    let kinds = [
        ("json", Kind::Json),
        ("merge", Kind::Merge),
        ("strategic", Kind::Strategic),
    ];
    let found = kinds.into_iter().find(|(word, _)| kind.starts_with(word));
    let found = found.map(|(_, kind)| Some(kind));
    let accepted = "json, merge or strategic after \"+\"";
    found.ok_or_else(|| {
        format!(
            "kubeadm accepts {accepted} in the name of {}",
            file.display()
        )
    })
}

fn read(file: &Path) -> Result<Vec<Value>, String> {
    let text = fs::read_to_string(file).map_err(|error| error.to_string())?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let all = serde_saphyr::from_multiple::<Value>(&text).map_err(|error| error.to_string())?;
    Ok(all
        .into_iter()
        .filter(|document| !document.is_null())
        .collect())
}

/// Applies the patches to the configuration.
///
/// # Errors
/// A patch does not fit, or this program cannot compute its result. The message is for a person.
pub fn apply(patches: &[Patch], config: &mut Value) -> Result<(), String> {
    for patch in patches {
        let cannot = |why: String| format!("{}: {why}", patch.file.display());
        match patch.kind {
            Kind::Json => {
                let operations = json_patch::Patch::deserialize(&patch.text);
                let operations = operations.map_err(|error| cannot(error.to_string()))?;
                let done = json_patch::patch(config, &operations);
                done.map_err(|error| cannot(error.to_string()))?;
            }
            Kind::Strategic if has_directive(&patch.text) => {
                return Err(cannot(
                    "Careen cannot compute the result of a patch with a \"$\" key".to_owned(),
                ));
            }
            Kind::Merge | Kind::Strategic => json_patch::merge(config, &patch.text),
        }
    }
    Ok(())
}

/// Whether a strategic patch has a directive such as `$patch`.
fn has_directive(patch: &Value) -> bool {
    match patch {
        Value::Object(fields) => fields
            .iter()
            .any(|(name, below)| name.starts_with('$') || has_directive(below)),
        Value::Array(values) => values.iter().any(has_directive),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

//! The node's patches for kubeadm: which files of the folder count, in which order, and what they
//! do to the kubelet's configuration (kubernetes v1.35 and v1.36, cmd/kubeadm/app/util/patches).

use std::fs;
use std::path::{Path, PathBuf};

use host::trust;
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

/// The folder for kubeadm's `--patches` in the system at this root. `None` if the policy names
/// none, or if the default one does not exist.
///
/// # Errors
/// The folder does not exist, or others than root may write it or a file in it. The message is for
/// a person.
pub fn folder(root: &Path, policy: &str) -> Result<Option<PathBuf>, String> {
    let folder = root.join(policy.trim_start_matches('/'));
    if policy.is_empty() || policy == upgrade::policy::PATCHES && !folder.exists() {
        return Ok(None);
    }
    if !folder.is_dir() || folder.is_symlink() {
        return Err(format!("{} is not a folder", folder.display()));
    }
    let mut files = files(&folder).into_iter();
    let fault = trust::fault(&folder).or_else(|| files.find_map(|file| trust::fault(&file)));
    fault.map_or(Ok(Some(folder)), |fault| Err(fault.with_its_fix()))
}

/// The patches of the kubelet's configuration in that folder, in kubeadm's order.
///
/// # Errors
/// As [`folder`], or kubeadm would refuse a file.
pub fn of(root: &Path, policy: &str) -> Result<Vec<Patch>, String> {
    let Some(folder) = folder(root, policy)? else {
        return Ok(Vec::new());
    };
    let mut patches = Vec::new();
    for file in files(&folder) {
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

/// Every file at or below the folder, in the order of Go's `filepath.Walk`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
    paths.sort();
    let below = |path: PathBuf| {
        if path.is_dir() && !path.is_symlink() {
            files(&path)
        } else {
            vec![path]
        }
    };
    paths.into_iter().flat_map(below).collect()
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

//! `write_files`: each entry is checked and decoded before the first one is written.

use std::io::Read;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use flate2::read::MultiGzDecoder;
use serde::Deserialize;

use crate::refused::Refused;

/// The fields of an entry that a host can carry out.
pub(crate) const FIELDS: [&str; 7] = [
    "append",
    "content",
    "defer",
    "encoding",
    "owner",
    "path",
    "permissions",
];

/// One entry, as it is written.
#[derive(Debug, Deserialize)]
pub(crate) struct Written {
    path: Option<String>,
    content: Option<String>,
    encoding: Option<String>,
    owner: Option<String>,
    permissions: Option<String>,
    append: Option<bool>,
    defer: Option<bool>,
}

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// An absolute path outside the image.
    pub path: String,
    /// What is written.
    pub content: Vec<u8>,
    /// The name or number of its user. `None`: root.
    pub user: Option<String>,
    /// The name or number of its group. `None`: root.
    pub group: Option<String>,
    /// Its mode.
    pub mode: u32,
    /// The content is added to the end of a file that exists.
    pub append: bool,
}

/// The longest file. Compressed data could be any length.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The mode without `permissions` (cloud-init, `cc_write_files.py`).
const MODE: u32 = 0o644;

pub(crate) fn files(written: Vec<Written>) -> Result<Vec<File>, Refused> {
    let (late, early): (Vec<_>, Vec<_>) = written
        .into_iter()
        .enumerate()
        .partition(|(_, file)| file.defer == Some(true));
    early.into_iter().chain(late).map(file).collect()
}

fn file((at, written): (usize, Written)) -> Result<File, Refused> {
    let path = written.path.ok_or(Refused::NoPath { at })?;
    if let Some(wrong) = wrong_path(&path) {
        return Err(Refused::Path { path, wrong });
    }
    let bad = |field, accepted| Refused::Value {
        path: path.clone(),
        field,
        accepted,
    };
    let mode = match written.permissions.as_deref() {
        None => MODE,
        Some(text) => mode(text).ok_or_else(|| bad("permissions", "three or four octal digits"))?,
    };
    let (user, group) = match written.owner.as_deref() {
        None => (None, None),
        Some(text) => owner(text).ok_or_else(|| bad("owner", "USER or USER:GROUP"))?,
    };
    let content = written.content.unwrap_or_default();
    let encoding = written.encoding.unwrap_or_default();
    let content =
        decoded(&encoding, content).map_err(|accepted| bad("content or its encoding", accepted))?;
    Ok(File {
        content,
        user,
        group,
        mode,
        append: written.append == Some(true),
        path,
    })
}

/// Folders that belong to the image, to the boot loader or to the kernel. On OSTree /usr/local is
/// below /var.
const NOT_OURS: [&str; 12] = [
    "/bin", "/boot", "/dev", "/lib", "/lib32", "/lib64", "/libx32", "/ostree", "/proc", "/sbin",
    "/sys", "/sysroot",
];

fn wrong_path(path: &str) -> Option<&'static str> {
    let is_in = |folder: &str| {
        let rest = path.strip_prefix(folder);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    if !path.starts_with('/') || path.ends_with('/') {
        Some("is not the absolute path of a file")
    } else if path.chars().any(char::is_control) {
        Some("has a control character")
    } else if path
        .split('/')
        .skip(1)
        .any(|part| matches!(part, "" | "." | ".."))
    {
        Some("has an empty part, \".\" or \"..\"")
    } else if is_in("/usr") && !is_in("/usr/local") || NOT_OURS.iter().any(|folder| is_in(folder)) {
        Some("is in the image, in the boot loader or in the kernel")
    } else {
        None
    }
}

fn mode(text: &str) -> Option<u32> {
    let is_octal = text.bytes().all(|digit| (b'0'..=b'7').contains(&digit));
    let fits = (3..=4).contains(&text.len()) && is_octal;
    fits.then(|| u32::from_str_radix(text, 8).ok()).flatten()
}

type Owner = (Option<String>, Option<String>);

fn owner(text: &str) -> Option<Owner> {
    let (user, group) = match text.split_once(':') {
        Some((user, group)) => (user, Some(group)),
        None => (text, None),
    };
    let is_name = |name: &str| {
        let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
        !name.is_empty() && name.len() <= 32 && name.chars().all(allowed)
    };
    let fits = is_name(user) && group.is_none_or(is_name);
    fits.then(|| (Some(user.to_owned()), group.map(str::to_owned)))
}

/// The names of encodings are those of cloud-init (`cc_write_files.py`, `canonicalize_extraction`).
fn decoded(encoding: &str, content: String) -> Result<Vec<u8>, &'static str> {
    match encoding.trim().to_lowercase().as_str() {
        "" | "text/plain" => Ok(content.into_bytes()),
        "b64" | "base64" => base64(&content),
        "gz+b64" | "gz+base64" | "gzip+b64" | "gzip+base64" => unzipped(&base64(&content)?),
        _ => Err("base64, gzip+base64, or no encoding"),
    }
}

fn base64(content: &str) -> Result<Vec<u8>, &'static str> {
    let mut bytes = content.as_bytes().to_owned();
    bytes.retain(|byte| !byte.is_ascii_whitespace());
    STANDARD.decode(bytes).map_err(|_| "base64")
}

fn unzipped(content: &[u8]) -> Result<Vec<u8>, &'static str> {
    let mut all = Vec::new();
    let read = MultiGzDecoder::new(content)
        .take(LONGEST + 1)
        .read_to_end(&mut all);
    match read {
        Ok(_) if all.len() as u64 <= LONGEST => Ok(all),
        Ok(_) => Err("at most 16 MiB"),
        Err(_) => Err("gzip in base64"),
    }
}

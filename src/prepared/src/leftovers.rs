//! The lists of what a cluster leaves, as data: one that is built in, and those of image and
//! operator in clean.d. Cleaning and check list read the same lists.

use std::fs;

use crate::error::{At, Error, Result};
use crate::folder::names;
use crate::paths::Paths;
use crate::trusted::must_be_roots;

/// What every node of a kubeadm cluster leaves.
const BUILT_IN: &str = include_str!("../clean.d/50-kubernetes.list");

/// The folders of lists.
const FOLDERS: [&str; 2] = ["/usr/lib/careen/clean.d", "/etc/careen/clean.d"];

/// One line of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Leftover {
    /// A file or folder that is removed.
    Remove(String),
    /// A folder that must be empty. Something else empties it.
    Empty(String),
    /// A network link. A star at the end stands for the rest of its name.
    Link(String),
}

/// All lists.
///
/// # Errors
/// A list cannot be read, others than root may write it, or it has a line that is not valid. Then
/// nothing counts as clean.
pub fn all(paths: &Paths) -> Result<Vec<Leftover>> {
    let mut all = parse(BUILT_IN).map_err(|(line, text)| bad(paths, "built in", line, &text))?;
    for folder in FOLDERS {
        let place = paths.below(folder);
        must_be_roots(&place)?;
        let names = names(&place)?;
        for name in names.iter().filter(|name| name.ends_with(".list")) {
            let path = format!("{folder}/{name}");
            let place = paths.below(&path);
            must_be_roots(&place)?;
            let text = fs::read_to_string(&place).at("reading", &place)?;
            let lines = parse(&text).map_err(|(line, text)| bad(paths, &path, line, &text))?;
            all.extend(lines);
        }
    }
    Ok(all)
}

fn bad(paths: &Paths, list: &str, line: usize, text: &str) -> Error {
    let detail = format!(
        "line {line} is {text:?}; use `remove PATH` or `empty PATH` with an absolute path below \
         /etc, /var, /run or /opt that is not a folder of the system or a file of Careen or sshd, or `link NAME`"
    );
    Error::unusable(&paths.below(list), detail)
}

/// # Errors
/// The number and the text of the first line that is not valid.
pub fn parse(text: &str) -> std::result::Result<Vec<Leftover>, (usize, String)> {
    let lines = text.lines().enumerate();
    let lines = lines.map(|(at, line)| (at + 1, line.trim()));
    lines
        .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
        .map(|(at, line)| one(line).ok_or_else(|| (at, line.to_owned())))
        .collect()
}

fn one(line: &str) -> Option<Leftover> {
    let (word, rest) = line.split_once(char::is_whitespace)?;
    let rest = rest.trim();
    match word {
        "remove" if is_removable(rest) => Some(Leftover::Remove(rest.to_owned())),
        "empty" if is_removable(rest) => Some(Leftover::Empty(rest.to_owned())),
        "link" if is_link(rest) => Some(Leftover::Link(rest.to_owned())),
        _ => None,
    }
}

/// The first part of each path.
const TOPS: [&str; 4] = ["etc", "opt", "run", "var"];

/// Folders that no list may name: a line that is wrong must not take a host apart.
const KEPT: [&str; 14] = [
    "/etc/careen",
    "/etc/ostree",
    "/etc/ssh",
    "/etc/systemd",
    "/run/careen",
    "/run/ostree-booted",
    "/run/systemd",
    "/var/cache",
    "/var/home",
    "/var/lib",
    "/var/lib/careen",
    "/var/lib/containerd",
    "/var/log",
    "/var/roothome",
];

/// What is below these is no cluster's: Careen's own files, and the way into the host.
const KEPT_WHOLE: [&str; 4] = [
    "/etc/careen/",
    "/etc/ssh/",
    "/run/careen/",
    "/var/lib/careen/",
];

fn is_removable(path: &str) -> bool {
    let mut parts = path.split('/');
    let is_absolute = parts.next() == Some("");
    let parts: Vec<_> = parts.collect();
    let is_plain = |part: &&str| !matches!(*part, "" | "." | "..");
    is_absolute
        && parts.len() >= 2
        && parts.iter().all(is_plain)
        && parts.first().is_some_and(|top| TOPS.contains(top))
        && !KEPT.contains(&path)
        && !KEPT_WHOLE.iter().any(|folder| path.starts_with(folder))
}

fn is_link(name: &str) -> bool {
    let stem = name.strip_suffix('*').unwrap_or(name);
    let allowed = |c: char| c.is_ascii_alphanumeric() || "._-".contains(c);
    // A star alone would match the link that the host is reached by.
    !stem.is_empty() && stem.chars().all(allowed)
}

/// Whether a link has the name of a line.
#[must_use]
pub fn is_named(link: &str, line: &str) -> bool {
    match line.strip_suffix('*') {
        Some(stem) => link.starts_with(stem),
        None => link == line,
    }
}

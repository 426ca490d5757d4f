//! The number of bytes that an image needs and another does not have: the minimum of a fetch.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

/// The size of the objects of commit `to` that `from` (a ref or a commit) lacks, as stored in an
/// archive repository.
///
/// # Errors
///
/// Fails when ostree cannot list them.
pub fn bytes(repo: &Path, from: &str, to: &str) -> Result<u64> {
    let (old, new) = (objects(repo, from)?, objects(repo, to)?);
    new.difference(&old)
        .map(|object| Ok(file(repo, object).metadata()?.len()))
        .sum()
}

/// The share of objects that belongs to `to`, in a repository that contains both commits.
///
/// # Errors
///
/// Fails when ostree cannot list them.
pub fn share(repo: &Path, from: &str, to: &str) -> Result<f64> {
    let (old, new) = (objects(repo, from)?, objects(repo, to)?);
    Ok(new.len() as f64 / old.union(&new).count() as f64)
}

/// Names of all files, trees and their metadata, as `<checksum>.<type>`.
fn objects(repo: &Path, commit: &str) -> Result<BTreeSet<String>> {
    let repo = format!("--repo={}", repo.display());
    let output = Command::new("ostree")
        .args([&repo, "ls", "-R", "-C", commit, "/"])
        .output()?;
    ensure!(
        output.status.success(),
        "ostree ls {commit}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().flat_map(of_line).collect())
}

/// `d00755 0 0 0 <tree> <meta> /path` for a folder, `-00644 0 0 <size> <checksum> /path` for a file
/// or link.
fn of_line(line: &str) -> Vec<String> {
    let words: Vec<&str> = line
        .split_whitespace()
        .filter(|word| is_checksum(word))
        .collect();
    match (line.starts_with('d'), words.as_slice()) {
        (true, [tree, meta, ..]) => vec![format!("{tree}.dirtree"), format!("{meta}.dirmeta")],
        (false, [file, ..]) => vec![format!("{file}.filez")],
        _ => Vec::new(),
    }
}

fn is_checksum(word: &str) -> bool {
    word.len() == 64 && word.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn file(repo: &Path, object: &str) -> PathBuf {
    let (first, rest) = object.split_at(2);
    repo.join("objects").join(first).join(rest)
}

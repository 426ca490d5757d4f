//! Files that editors and package managers leave beside the file that counts.

use std::ffi::OsStr;

/// How their names end: editors, patch, rpm, dpkg and ucf.
const ENDS: [&str; 15] = [
    "~",
    ".bak",
    ".orig",
    ".rej",
    ".swp",
    ".swo",
    ".tmp",
    ".rpmsave",
    ".rpmorig",
    ".rpmnew",
    ".dpkg-old",
    ".dpkg-new",
    ".dpkg-dist",
    ".dpkg-bak",
    ".ucf-dist",
];

/// Whether a file with this name is such a copy, or hidden. Nobody means it to count.
#[must_use]
pub fn is_leftover(name: &OsStr) -> bool {
    let name = name.to_string_lossy();
    name.starts_with('.') || ENDS.iter().any(|end| name.ends_with(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_editors_and_package_managers_are_leftovers() {
        for name in [
            "10-net~",
            "10-net.bak",
            "x.rpmsave",
            "x.dpkg-old",
            ".x.swp",
            ".hidden",
        ] {
            assert!(is_leftover(OsStr::new(name)), "{name}");
        }
        for name in ["10-net", "backup.sh", "orig", "a.b", "50-bak"] {
            assert!(!is_leftover(OsStr::new(name)), "{name}");
        }
    }
}

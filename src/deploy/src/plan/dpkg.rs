//! dpkg's list: paragraphs of `Field: value` (deb822(5)), one for each known package.

use super::installed::{Installed, List};
use crate::verify::image::Tree;

/// The limit in bytes, far above the size of any list. A longer one is not read into memory.
const LONGEST: usize = 64 << 20;

/// The end of the status of a package whose files are present.
const INSTALLED: &str = " installed";

/// Reads the list at a path.
pub fn list(tree: &Tree, path: &str) -> Option<List> {
    let (mut bytes, mut whole) = (Vec::new(), true);
    tree.read(path, &mut |piece| {
        whole &= bytes.len() + piece.len() <= LONGEST;
        if whole {
            bytes.extend_from_slice(piece);
        }
    })?;
    whole.then(|| parse(&String::from_utf8_lossy(&bytes)))
}

fn parse(text: &str) -> List {
    let mut list = List::new();
    for paragraph in text.split("\n\n") {
        if let Some((name, installed)) = package(paragraph) {
            // The same package for another architecture: the size of both counts.
            let known: &mut Installed = list.entry(name).or_default();
            known.version = installed.version;
            known.bytes = known.bytes.saturating_add(installed.bytes);
        }
    }
    list
}

fn package(paragraph: &str) -> Option<(String, Installed)> {
    let field = |name: &str| paragraph.lines().find_map(|line| value(line, name));
    if !field("Status")?.ends_with(INSTALLED) {
        return None;
    }
    // In KiB (deb-substvars(5)).
    let kilobytes: u64 = field("Installed-Size").map_or(0, |size| size.parse().unwrap_or(0));
    let installed = Installed {
        version: field("Version")?,
        bytes: kilobytes.saturating_mul(1024),
    };
    Some((field("Package")?, installed))
}

/// The value of a line with this field. Continuation lines are left out.
fn value(line: &str, field: &str) -> Option<String> {
    let value = line.strip_prefix(field)?.strip_prefix(':')?;
    Some(value.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "\
Package: bash
Status: install ok installed
Installed-Size: 7164
Version: 5.2.37-2
Description: shell
 Version: not this one

Package: gone
Status: deinstall ok config-files
Version: 1

Package: meta
Status: hold ok installed
Version: 2

nonsense
";

    #[test]
    fn packages_that_are_there_are_read_with_version_and_size() {
        let list = parse(LIST);
        let names: Vec<_> = list.keys().map(String::as_str).collect();
        assert_eq!(names, ["bash", "meta"]);
        assert_eq!(list["bash"].version, "5.2.37-2");
        assert_eq!(list["bash"].bytes, 7164 * 1024);
        assert_eq!(list["meta"].bytes, 0);
    }
}

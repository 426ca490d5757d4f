//! Assigns files to layers. The same packages must fall into the same layers in every build, or a
//! node would fetch everything again. So a file's layer depends only on its package's name, or on
//! its own path if no package owns it. It does not depend on sizes or on other files.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use anyhow::{Context, Result};
use ostree_ext::gio::prelude::*;
use ostree_ext::gio::{self, FileQueryInfoFlags, FileType};
use ostree_ext::objectsource::{ContentID, ObjectMeta, ObjectSourceMeta};
use ostree_ext::ostree::{Repo, RepoFile};
use sha2::{Digest, Sha256};

/// The numbers of layers for files that packages own and for others (kernel's initramfs, kubelet, a
/// site's own files). Together they are fewer than 64, up to which ostree-ext gives each a layer of
/// its own (chunking.rs, `basic_packing`).
const OF_PACKAGES: u8 = 40;
const OF_OTHERS: u8 = 20;
/// The places of Debian's file lists: moved, as OSTree systems have them, or original.
const LISTS: [&str; 2] = ["usr/lib/sysimage/dpkg/info", "var/lib/dpkg/info"];
const NEVER: Option<&gio::Cancellable> = None;

/// Assigns all files of a commit.
///
/// # Errors
/// If the commit cannot be read.
pub fn of(repo: &Repo, commit: &str) -> Result<ObjectMeta> {
    let (root, _) = repo.read_commit(commit, NEVER)?;
    let owners = owners(&root)?;
    let mut meta = ObjectMeta::default();
    walk(&root, "", &mut |path: &str, object: String| {
        let layer: ContentID = Rc::from(layer(&owners, path));
        meta.set.insert(described(&layer));
        // A file in two places is one object, and belongs to the layer of the first.
        meta.map.entry(object).or_insert(layer);
    })?;
    // A layer is empty if all its files are objects of other layers.
    let used: HashSet<_> = meta.map.values().cloned().collect();
    meta.set.retain(|layer| used.contains(&layer.identifier));
    Ok(meta)
}

fn described(layer: &ContentID) -> ObjectSourceMeta {
    ObjectSourceMeta {
        identifier: Rc::clone(layer),
        name: Rc::clone(layer),
        srcid: Rc::clone(layer),
        change_time_offset: 0,
        change_frequency: 0,
    }
}

fn layer(owners: &HashMap<String, String>, path: &str) -> String {
    match owners.get(path) {
        Some(package) => format!("packages-{:02}", bucket(package) % OF_PACKAGES),
        None => format!("files-{:02}", bucket(path) % OF_OTHERS),
    }
}

/// Always the same for the same text.
fn bucket(text: &str) -> u8 {
    Sha256::digest(text.as_bytes())[0]
}

/// Paths with their packages; empty if the tree has no Debian file lists.
fn owners(root: &gio::File) -> Result<HashMap<String, String>> {
    let mut owners = HashMap::new();
    for folder in LISTS {
        let folder = root.resolve_relative_path(folder);
        if !folder.query_exists(NEVER) {
            continue;
        }
        for (name, file) in children(&folder)? {
            let Some(package) = name.strip_suffix(".list") else {
                continue;
            };
            let (text, _) = file.load_contents(NEVER)?;
            let text = String::from_utf8_lossy(&text);
            owners.extend(
                text.lines()
                    .map(|line| (in_image(line), package.to_owned())),
            );
        }
    }
    Ok(owners)
}

/// The place of a package's path in an OSTree image: /usr is merged, and /etc is below it.
fn in_image(path: &str) -> String {
    let path = path.trim_start_matches('/');
    let top = path.split('/').next().unwrap_or_default();
    match top {
        "bin" | "sbin" | "lib" | "lib64" | "etc" => format!("usr/{path}"),
        _ => path.to_owned(),
    }
}

fn walk(folder: &gio::File, path: &str, take: &mut impl FnMut(&str, String)) -> Result<()> {
    for (name, file) in children(folder)? {
        let path = format!("{path}{name}");
        if file.query_file_type(FileQueryInfoFlags::NOFOLLOW_SYMLINKS, NEVER) == FileType::Directory
        {
            walk(&file, &format!("{path}/"), take)?;
        } else {
            let file = file.downcast_ref::<RepoFile>();
            let file = file.with_context(|| format!("{path} is not in a repository"))?;
            file.ensure_resolved()?;
            take(&path, file.checksum().to_string());
        }
    }
    Ok(())
}

fn children(folder: &gio::File) -> Result<Vec<(String, gio::File)>> {
    let flags = FileQueryInfoFlags::NOFOLLOW_SYMLINKS;
    let entries = folder.enumerate_children("standard::name", flags, NEVER)?;
    let mut all = Vec::new();
    while let Some(entry) = entries.next_file(NEVER)? {
        let name = entry.name();
        all.push((name.to_string_lossy().into_owned(), folder.child(&name)));
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_stays_in_its_layer_whatever_else_there_is() {
        let owners = HashMap::from([("usr/bin/bash".to_owned(), "bash".to_owned())]);
        let more = HashMap::from([
            ("usr/bin/bash".to_owned(), "bash".to_owned()),
            ("usr/bin/zsh".to_owned(), "zsh".to_owned()),
        ]);
        assert_eq!(layer(&owners, "usr/bin/bash"), layer(&more, "usr/bin/bash"));
        // Fixed here: another number would make every node fetch everything once.
        assert_eq!(bucket("bash"), 0x37);
    }

    #[test]
    fn paths_of_packages_are_those_of_the_image() {
        assert_eq!(in_image("/bin/bash"), "usr/bin/bash");
        assert_eq!(in_image("/etc/hosts"), "usr/etc/hosts");
        assert_eq!(in_image("/usr/share/x"), "usr/share/x");
    }
}

//! Files and folders beside the policy that are nearly the operator's, and that nothing reads.

use std::fs;
use std::path::{Path, PathBuf};

use host::backup_files::is_leftover;
use upgrade::names;
use upgrade::policy::misnamed::meant;

/// Where an image has its own checks and hooks. A policy is none of them.
const IMAGES: &str = "/usr/lib/careen";

/// The first of them by name, and the path that Careen reads.
pub(super) fn first(policy: &Path) -> Option<(PathBuf, &'static str)> {
    let images = (policy == Path::new(names::POLICY_FILE)).then_some(Path::new(IMAGES));
    let folders = policy.parent().into_iter().chain(images);
    let mut found: Vec<_> = folders
        .flat_map(|folder| in_folder(folder, policy))
        .collect();
    found.sort();
    found.into_iter().next()
}

fn in_folder(folder: &Path, policy: &Path) -> Vec<(PathBuf, &'static str)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let paths = paths.filter(|path| path != policy);
    paths
        .filter_map(|path| {
            let name = path.file_name().filter(|name| !is_leftover(name))?;
            let name = name.to_string_lossy();
            let meant = meant(&name, path.is_dir()).or_else(|| in_the_image(folder, &name))?;
            Some((path, meant))
        })
        .collect()
}

/// An image ships a policy as the default of /etc.
fn in_the_image(folder: &Path, name: &str) -> Option<&'static str> {
    let is_policy = Path::new(names::POLICY_FILE).ends_with(name);
    (folder == Path::new(IMAGES) && is_policy).then_some(names::POLICY_FILE)
}

//! Names of files and folders that Careen does not read, and that are nearly those of the
//! operator's. A person who writes hours, an opt-out or a check there believes that they hold.

use crate::names::{
    POLICY_FILE, POST_HOOKS, PRE_HOOKS, REQUIRED_CHECKS, SNAPSHOT_LISTS, WANTED_CHECKS,
};
use crate::typo::nearest;

/// What Careen reads in a folder of the operator's.
const READ: [&str; 6] = [
    POLICY_FILE,
    REQUIRED_CHECKS,
    WANTED_CHECKS,
    PRE_HOOKS,
    POST_HOOKS,
    SNAPSHOT_LISTS,
];

/// How the name of a policy ends, for one program or another. The empty one has no dot.
const ENDS: [&str; 9] = ["toml", "yaml", "yml", "json", "conf", "cfg", "ini", "d", ""];

/// What a policy is called elsewhere. The first word may also be misspelt.
const POLICY: [&str; 5] = ["policy", "policies", "careen", "config", "settings"];

/// What the folders are called elsewhere, in letters alone. A short word must be whole.
const FOLDERS: [(&str, &str); 22] = [
    ("required", REQUIRED_CHECKS),
    ("requiredchecks", REQUIRED_CHECKS),
    ("check", REQUIRED_CHECKS),
    ("checks", REQUIRED_CHECKS),
    ("healthchecks", REQUIRED_CHECKS),
    ("wanted", WANTED_CHECKS),
    ("wantedchecks", WANTED_CHECKS),
    ("hooks", PRE_HOOKS),
    ("prehook", PRE_HOOKS),
    ("prehooks", PRE_HOOKS),
    ("predrain", PRE_HOOKS),
    ("preupgrade", PRE_HOOKS),
    ("pre", PRE_HOOKS),
    ("posthook", POST_HOOKS),
    ("posthooks", POST_HOOKS),
    ("postdrain", POST_HOOKS),
    ("postupgrade", POST_HOOKS),
    ("post", POST_HOOKS),
    ("snapshot", SNAPSHOT_LISTS),
    ("snapshots", SNAPSHOT_LISTS),
    ("snap", SNAPSHOT_LISTS),
    ("save", SNAPSHOT_LISTS),
];

/// What a file or folder of this name, in the folder of the operator's, is likely to be meant for.
/// `None` if Careen reads it, or nobody could take it for one that Careen reads.
#[must_use]
pub fn meant(name: &str, is_folder: bool) -> Option<&'static str> {
    if READ
        .iter()
        .any(|path| path.rsplit('/').next() == Some(name))
    {
        return None;
    }
    let lower = name.to_ascii_lowercase();
    let (stem, end) = lower.rsplit_once('.').unwrap_or((lower.as_str(), ""));
    let stem = stem.split('.').next().unwrap_or_default();
    if ENDS.contains(&end) && is_like_a_policy(stem) {
        return Some(POLICY_FILE);
    }
    (is_folder && ["d", ""].contains(&end))
        .then(|| folder(stem))
        .flatten()
}

fn is_like_a_policy(stem: &str) -> bool {
    POLICY.contains(&stem) || nearest(stem, &POLICY[..1]).is_some()
}

fn folder(stem: &str) -> Option<&'static str> {
    let plain: String = stem.chars().filter(char::is_ascii_alphanumeric).collect();
    let whole = FOLDERS.iter().find(|(word, _)| *word == plain);
    let long = || {
        let words: Vec<_> = FOLDERS.iter().map(|(word, _)| *word).collect();
        let word = nearest(&plain, &words).filter(|word| word.len() >= 6)?;
        FOLDERS.iter().find(|(one, _)| *one == word)
    };
    whole.or_else(long).map(|(_, path)| *path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_nearly_the_policys_are_found() {
        for name in [
            "policy.yaml",
            "policy.yml",
            "Policy.toml",
            "polciy.toml",
            "policies.toml",
            "policy",
            "policy.d",
            "policy.toml.d",
            "careen.toml",
            "config.toml",
        ] {
            let is_folder = name.ends_with(".d");
            assert_eq!(meant(name, is_folder), Some(POLICY_FILE), "{name}");
        }
    }

    #[test]
    fn folders_that_are_nearly_those_of_checks_and_hooks_are_found() {
        for (name, path) in [
            ("required", REQUIRED_CHECKS),
            ("require.d", REQUIRED_CHECKS),
            ("Required.d", REQUIRED_CHECKS),
            ("checks.d", REQUIRED_CHECKS),
            ("wants.d", WANTED_CHECKS),
            ("pre-hooks.d", PRE_HOOKS),
            ("post", POST_HOOKS),
            ("snapshots.d", SNAPSHOT_LISTS),
        ] {
            assert_eq!(meant(name, true), Some(path), "{name}");
            assert_eq!(meant(name, false), None, "{name} is a file");
        }
    }

    #[test]
    fn other_names_and_those_that_are_read_are_left_alone() {
        for name in [
            "policy.toml",
            "required.d",
            "pre.d",
            "units",
            "README",
            "policy.md",
            "policy.toml.example",
            "policy.toml.disabled",
            "image.json",
            "keys",
            "site.d",
        ] {
            assert_eq!(meant(name, name.ends_with(".d")), None, "{name}");
        }
    }
}

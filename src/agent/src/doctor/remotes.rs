//! The OSTree remotes that images may come from, or whose keys vouch for container images. Each
//! must be known, reachable by a URL, and have a key to verify its signatures.

use std::fs;
use std::path::{Path, PathBuf};

use host::Places;
use host::redact::veiled;
use upgrade::Policy;

use super::finding::Finding;
use super::keyfile::{self, Group};
use super::patient::Patient;
use super::registry;

const NAME: &str = "remote";

/// The repository, below the physical root.
const REPO: &str = "ostree/repo";

/// Keys of all remotes, below the root.
const COMMON_KEYS: &str = "usr/share/ostree/trusted.gpg.d";

/// One finding for each remote that the policy allows, and for the one that vouches for container
/// images.
pub(super) fn remotes(patient: &Patient, policy: &Policy) -> Vec<Finding> {
    let known = configured(&patient.places);
    let allowed = |group: &&Group| {
        let name = group.remote().unwrap_or_default();
        policy.remotes.is_empty() || named(policy).any(|(_, remote)| remote == name)
    };
    let usable = known.iter().filter(allowed);
    let mut findings: Vec<_> = usable
        .map(|group| judge(group, &patient.places, policy))
        .collect();
    let is_known = |name: &str| known.iter().any(|group| group.remote() == Some(name));
    let strangers = named(policy).filter(|(_, name)| !is_known(name));
    findings.extend(strangers.map(|(field, name)| unknown(field, name)));
    if findings.is_empty() {
        findings.push(none(policy));
    }
    findings
}

/// The remotes that the policy names, each with its field.
fn named(policy: &Policy) -> impl Iterator<Item = (&'static str, &str)> {
    let remotes = policy.remotes.iter();
    let remotes = remotes.map(|name| ("remotes", name.as_str()));
    let signer = Some(policy.registry.signed_by.as_str());
    let signer = signer.filter(|name| !name.is_empty());
    remotes.chain(signer.map(|name| ("registry.signed-by", name)))
}

fn unknown(field: &str, name: &str) -> Finding {
    Finding::bad(
        NAME,
        format!("the policy's {field} names {name}, which is not configured"),
        &format!("add it with ostree remote add, or remove it from the policy's {field}"),
    )
}

/// No remote at all. If images come from registries, no remote is needed.
fn none(policy: &Policy) -> Finding {
    let seen = "no OSTree remote is configured";
    if registry::lets_any_through(policy) {
        return Finding::ok(NAME, format!("{seen}; images come as container images"));
    }
    Finding::bad(
        NAME,
        format!("{seen}, and the policy names no registry"),
        "add one with ostree remote add and the key that signs the images; or name registries in the policy's registry.allowed",
    )
}

/// The content of the repository's own file and of those below /etc.
fn configured(places: &Places) -> Vec<Group> {
    let own = places.sysroot.join(REPO).join("config");
    let folder = places.root.join("etc/ostree/remotes.d");
    let mut files = vec![own];
    files.extend(below(&folder, &["conf"]));
    files.sort();
    let texts = files
        .iter()
        .filter_map(|file| fs::read_to_string(file).ok());
    let groups = texts.flat_map(|text| keyfile::parse(&text));
    groups.filter(|group| group.remote().is_some()).collect()
}

fn below(folder: &Path, endings: &[&str]) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = |path: &PathBuf| {
        let ending = path.extension().unwrap_or_default().to_string_lossy();
        endings.contains(&ending.as_ref())
    };
    files.map(|file| file.path()).filter(named).collect()
}

fn judge(group: &Group, places: &Places, policy: &Policy) -> Finding {
    let name = group.remote().unwrap_or_default();
    let Some(url) = group
        .get("url")
        .or_else(|| group.get("metalink"))
        .map(veiled)
    else {
        return Finding::bad(
            NAME,
            format!("{name} has no url"),
            "add url= to its file below /etc/ostree/remotes.d",
        );
    };
    if policy.limits.bandwidth_bytes > 0 && group.get("proxy").is_some() {
        let seen = format!("{name} uses a proxy, through which the bandwidth cannot be limited");
        return Finding::bad(
            NAME,
            seen,
            "remove proxy=, or the policy's limits.bandwidth-bytes",
        );
    }
    // Absent means true (ostree.repo-config(5)).
    let verified = !matches!(group.get("gpg-verify"), Some("false" | "0"));
    match (verified, policy.unsigned) {
        (false, true) => Finding::warn(
            NAME,
            format!("{name}: {url}, unsigned images are allowed"),
            "sign them, and remove unsigned = true from the policy",
        ),
        (false, false) => Finding::bad(
            NAME,
            format!("{name} has gpg-verify=false"),
            "import its key and set gpg-verify=true, or unsigned = true in the policy",
        ),
        (true, _) => judge_keys(group, name, &url, places),
    }
}

fn judge_keys(group: &Group, name: &str, url: &str, places: &Places) -> Finding {
    if let Some(path) = absent_key(group, places) {
        return Finding::bad(
            NAME,
            format!(
                "{name}'s gpgkeypath= names {path}, which does not exist: no signature can be verified"
            ),
            "put the keys there, or remove that path from gpgkeypath=",
        );
    }
    let common = keys_of_all_remotes(places);
    let seen = format!("{name}: {url}, with a key");
    match keys_of(group, name, places) {
        Keys::Ring => Finding::ok(NAME, seen),
        Keys::Path if common.is_empty() => Finding::ok(NAME, seen),
        Keys::Path => Finding::warn(
            NAME,
            format!(
                "{seen}, and the keys of all remotes count as well: {}",
                common.join(", ")
            ),
            &format!(
                "if only keys of gpgkeypath= may sign, import them (ostree remote gpg-import {name} -k <file>) or remove those of all remotes"
            ),
        ),
        Keys::None if !common.is_empty() => Finding::ok(
            NAME,
            format!(
                "{name}: {url}, with the keys of all remotes: {}",
                common.join(", ")
            ),
        ),
        Keys::None => without_a_key(name),
    }
}

fn without_a_key(name: &str) -> Finding {
    Finding::bad(
        NAME,
        format!("{name} has no key to verify signatures with"),
        &format!("ostree remote gpg-import {name} -k <file>"),
    )
}

/// The first absent key. libostree fails on it, whatever other keys exist
/// (`_ostree_gpg_verifier_add_keyfile_path` in src/libostree/ostree-gpg-verifier.c).
fn absent_key<'a>(group: &'a Group, places: &Places) -> Option<&'a str> {
    group
        .key_paths()
        .find(|path| fs::metadata(key_file(path, places)).is_err())
}

fn key_file(path: &str, places: &Places) -> PathBuf {
    places.root.join(path.trim_start_matches('/'))
}

/// The keys that a remote has of its own.
enum Keys {
    /// A keyring. libostree then ignores the keys of all remotes.
    Ring,
    /// `gpgkeypath=`, which adds to the keys of all remotes
    /// (`_ostree_repo_gpg_prepare_verifier` in src/libostree/ostree-repo.c).
    Path,
    /// None.
    None,
}

fn keys_of(group: &Group, name: &str, places: &Places) -> Keys {
    let filled = |path: &Path| fs::metadata(path).is_ok_and(|meta| meta.is_dir() || meta.len() > 0);
    let ring = format!("{name}.trustedkeys.gpg");
    if filled(&places.sysroot.join(REPO).join(ring)) {
        return Keys::Ring;
    }
    let mut paths = group.key_paths();
    match paths.any(|path| filled(&key_file(path, places))) {
        true => Keys::Path,
        false => Keys::None,
    }
}

/// The names of the files with keys that count for all remotes.
fn keys_of_all_remotes(places: &Places) -> Vec<String> {
    let mut files = below(&places.root.join(COMMON_KEYS), &["gpg", "asc"]);
    files.sort();
    let names = files.iter().filter_map(|file| file.file_name());
    names
        .map(|name| format!("/{COMMON_KEYS}/{}", name.to_string_lossy()))
        .collect()
}

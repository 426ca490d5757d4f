//! What container images need, on a node whose policy names registries: the program that fetches
//! them, and a signature requirement.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use host::container_policy::Policy as ContainerPolicy;
use host::programs::Program;
use upgrade::Policy;
use upgrade::container::SKOPEO;
use upgrade::policy::Registry;

use super::finding::Finding;
use super::patient::Patient;

const NAME: &str = "registry";
const CONTAINER_POLICY: &str = "etc/containers/policy.json";
/// The folders of certificates' keys, with a folder for each host (containers-certs.d(5)).
const KEYS: [&str; 2] = ["etc/containers/certs.d", "etc/docker/certs.d"];
/// The groups through which skopeo may read a key: its own, and the one that earlier versions
/// required.
const GROUPS: [u32; 2] = [SKOPEO, 65_534];
/// The limit of user namespaces, below the folder that holds `proc`.
const NAMESPACES: &str = "proc/sys/user/max_user_namespaces";

/// `None` on a node whose policy names no registry, because nobody may ever request container
/// images there.
pub(super) fn registry(patient: &Patient, policy: &Policy) -> Option<Finding> {
    if !is_spoken_of(policy) {
        return None;
    }
    let root = &patient.places.root;
    if let Err(missing) = Program::Skopeo.below(root) {
        return Some(Finding::bad(
            NAME,
            format!("the policy allows container images, but {missing}"),
            "make an image with the package skopeo, 1.13 or later",
        ));
    }
    if let Some(finding) = apart(patient).or_else(|| keys(root)) {
        return Some(finding);
    }
    Some(match container_policy(root) {
        // The policy applies in any case, so no image can be fetched.
        Err(error) => Finding::bad(NAME, error, "fix it: containers-policy.json(5)"),
        Ok(found) => vouched(policy, found.as_ref()),
    })
}

/// A user namespace separates skopeo from other processes.
fn apart(patient: &Patient) -> Option<Finding> {
    let most = fs::read_to_string(patient.kernel.join(NAMESPACES)).ok()?;
    (most.trim() == "0").then(|| {
        Finding::bad(
            NAME,
            "user.max_user_namespaces is 0, so skopeo cannot be isolated from other processes",
            "set the sysctl user.max_user_namespaces to more than 0",
        )
    })
}

/// A key that skopeo cannot read blocks its registry, and a key that everybody can read is not
/// secret.
fn keys(root: &Path) -> Option<Finding> {
    let hosts = KEYS.iter().flat_map(|folder| below(&root.join(folder)));
    let mut keys = hosts.flat_map(|host| below(&host));
    keys.find_map(|key| {
        let facts = fs::metadata(&key).ok()?;
        let is_key = key.extension().is_some_and(|end| end == "key");
        let others = facts.mode() & 0o007 != 0;
        let group = facts.mode() & 0o040 != 0 && GROUPS.contains(&facts.gid());
        let seen = match (others, group) {
            (true, _) => "every user on the node may read",
            (false, true) => return None,
            (false, false) => "skopeo may not read",
        };
        let shown = key.strip_prefix(root).unwrap_or(&key).display();
        is_key.then(|| {
            Finding::warn(
                NAME,
                format!("/{shown} is a key that {seen}"),
                &format!("chgrp {SKOPEO} it, and chmod 640"),
            )
        })
    })
}

fn below(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn is_spoken_of(policy: &Policy) -> bool {
    policy.registry != Registry::default()
}

/// Whether the policy names a place that container images may come from.
pub(super) fn lets_any_through(policy: &Policy) -> bool {
    !(policy.registry.allowed.is_empty() && policy.registry.archives.is_empty())
}

fn container_policy(root: &Path) -> Result<Option<ContainerPolicy>, String> {
    let path = root.join(CONTAINER_POLICY);
    if !path.exists() {
        return Ok(None);
    }
    let read = ContainerPolicy::read(&path);
    read.map(Some).map_err(|error| error.to_string())
}

fn vouched(policy: &Policy, found: Option<&ContainerPolicy>) -> Finding {
    let wanted = &policy.registry;
    if !lets_any_through(policy) {
        return Finding::warn(
            NAME,
            "no container image is allowed: registry.allowed and registry.archives are empty",
            "name the allowed registries in the policy's registry.allowed",
        );
    }
    if !wanted.signed_by.is_empty() {
        let seen = format!(
            "commits in container images must be signed for {}",
            wanted.signed_by
        );
        return Finding::ok(NAME, seen);
    }
    if policy.unsigned {
        return Finding::warn(
            NAME,
            "unsigned container images are allowed",
            "set registry.signed-by, and remove unsigned = true from the policy",
        );
    }
    if !wanted.archives.is_empty() {
        return Finding::bad(
            NAME,
            "registry.archives is set, but nothing vouches for an image from an archive",
            "set registry.signed-by in the policy; the container policy does not cover archives",
        );
    }
    by_container_policy(wanted, found)
}

/// Judges each allowed place.
fn by_container_policy(wanted: &Registry, found: Option<&ContainerPolicy>) -> Finding {
    let places = &wanted.allowed;
    let unsigned = |place: &&String| found.is_none_or(|found| !found.goes_by_signatures(place));
    match places.iter().find(unsigned) {
        None => Finding::ok(
            NAME,
            format!(
                "/{CONTAINER_POLICY} says which are allowed: only skopeo checks it (with registry.signed-by, careen-deploy checks the commit itself)"
            ),
        ),
        Some(place) => Finding::bad(
            NAME,
            format!("nothing vouches for any container image from {place}"),
            "set registry.signed-by in the policy, or demand signatures in /etc/containers/policy.json",
        ),
    }
}

//! What container images need, on a node whose policy speaks of them: the program that fetches them, and somebody who vouches for them.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use host::container_policy::Policy as ContainerPolicy;
use host::programs::Program;
use upgrade::Policy;
use upgrade::container::SKOPEO;
use upgrade::policy::Registry;

use super::{Finding, Patient};

const NAME: &str = "registry";
const CONTAINER_POLICY: &str = "etc/containers/policy.json";
/// Where keys of certificates are, in a folder for each host (containers-certs.d(5)).
const KEYS: [&str; 2] = ["etc/containers/certs.d", "etc/docker/certs.d"];
/// By which groups skopeo may read one: its own, and the one that former versions wanted.
const GROUPS: [u32; 2] = [SKOPEO, 65_534];
/// How many user namespaces there may be, below the folder that holds `proc`.
const NAMESPACES: &str = "proc/sys/user/max_user_namespaces";

/// Nothing on a node whose policy does not speak of them: there they may never be asked for.
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
        // In force in any case, so that no image comes at all.
        Err(error) => Finding::bad(NAME, error, "fix it: containers-policy.json(5)"),
        Ok(found) => vouched(policy, found.as_ref()),
    })
}

/// skopeo is kept apart from other processes by a user namespace.
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

/// A key that skopeo cannot read keeps it from its registry, and one that everybody can read is no secret.
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

/// Places that are allowed are each judged.
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

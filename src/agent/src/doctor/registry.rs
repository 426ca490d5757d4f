//! What container images need, on a node whose policy speaks of them: the program that fetches them, and somebody who vouches for them.

use std::path::Path;

use host::container_policy::Policy as ContainerPolicy;
use host::programs::Program;
use upgrade::Policy;
use upgrade::policy::Registry;

use super::{Finding, Patient};

const NAME: &str = "registry";
const CONTAINER_POLICY: &str = "etc/containers/policy.json";

/// Nothing on a node whose policy does not speak of them: there they may never be asked for.
pub(super) fn registry(patient: &Patient, policy: &Policy) -> Option<Finding> {
    if !is_spoken_of(policy) {
        return None;
    }
    let root = &patient.places.root;
    if let Err(missing) = Program::Skopeo.below(root) {
        return Some(Finding::bad(
            NAME,
            format!("the policy speaks of container images, and {missing}"),
            "make an image with the package skopeo, 1.13 or later",
        ));
    }
    Some(match container_policy(root) {
        // In force in any case, so that no image comes at all.
        Err(error) => Finding::bad(NAME, error, "mend it: containers-policy.json(5)"),
        Ok(found) => vouched(policy, found.as_ref()),
    })
}

pub(super) fn is_spoken_of(policy: &Policy) -> bool {
    policy.registry != Registry::default()
}

/// Whether container images would come to a node whose policy does not speak of them: any registry is allowed then.
pub(super) fn come_unspoken(patient: &Patient) -> bool {
    let root = &patient.places.root;
    let found = container_policy(root).ok().flatten();
    Program::Skopeo.below(root).is_ok() && found.is_some_and(|found| found.goes_by_signatures(""))
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
            "container images that nobody signed are let through",
            "set registry.signed-by, and drop unsigned = true from the policy",
        );
    }
    if !wanted.archives.is_empty() {
        return Finding::bad(
            NAME,
            "registry.archives is set, and nothing vouches for what comes from an archive",
            "set registry.signed-by in the policy; the container policy says nothing of archives",
        );
    }
    by_container_policy(wanted, found)
}

/// Places that are allowed are each judged; with none, all registries together.
fn by_container_policy(wanted: &Registry, found: Option<&ContainerPolicy>) -> Finding {
    let every = [String::new()];
    let places = match wanted.allowed.as_slice() {
        [] => every.as_slice(),
        allowed => allowed,
    };
    let unsigned = |place: &&String| found.is_none_or(|found| !found.goes_by_signatures(place));
    match places.iter().find(unsigned) {
        None => Finding::ok(
            NAME,
            format!("/{CONTAINER_POLICY} says which are let through"),
        ),
        Some(place) => Finding::bad(
            NAME,
            format!("nothing vouches for any container image{}", from(place)),
            "set registry.signed-by in the policy, or demand signatures in /etc/containers/policy.json",
        ),
    }
}

fn from(place: &str) -> String {
    if place.is_empty() {
        return String::new();
    }
    format!(" from {place}")
}

//! What container images need, on a node whose policy speaks of them: the program that fetches them, and somebody who vouches for them.

use upgrade::Policy;
use upgrade::policy::Registry;

use super::{Finding, Patient};

const NAME: &str = "registry";
/// Below the root.
const PROGRAM: &str = "usr/bin/skopeo";
const CONTAINER_POLICY: &str = "etc/containers/policy.json";

/// Nothing on a node whose policy does not speak of them: there they may never be asked for.
pub(super) fn registry(patient: &Patient, policy: &Policy) -> Option<Finding> {
    let wanted = &policy.registry;
    if *wanted == Registry::default() {
        return None;
    }
    let root = &patient.places.root;
    if !root.join(PROGRAM).exists() {
        return Some(Finding::bad(
            NAME,
            format!("the policy speaks of container images, and there is no /{PROGRAM}"),
            "make an image with the package skopeo, 1.13 or later",
        ));
    }
    if !wanted.signed_by.is_empty() {
        let seen = format!(
            "commits in container images must be signed for {}",
            wanted.signed_by
        );
        return Some(Finding::ok(NAME, seen));
    }
    Some(
        match (policy.unsigned, root.join(CONTAINER_POLICY).exists()) {
            (true, _) => Finding::warn(
                NAME,
                "container images that nobody signed are let through",
                "set registry.signed-by, and drop unsigned = true from the policy",
            ),
            (false, true) => Finding::ok(
                NAME,
                format!("/{CONTAINER_POLICY} says which are let through"),
            ),
            (false, false) => Finding::bad(
                NAME,
                "nothing vouches for any container image",
                "set registry.signed-by in the policy, or demand signatures in /etc/containers/policy.json",
            ),
        },
    )
}

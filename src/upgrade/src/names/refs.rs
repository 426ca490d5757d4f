//! Refs in the node's OSTree repository.

use super::{Kind, Name, row};

/// The ref that holds a fetched commit against pruning.
pub const TARGET_REF: &str = "careen/target";
/// The ref that holds what was fetched of a commit for a plan, while it is looked at.
pub const PLAN_REF: &str = "careen/plan";
/// Refs that hold the layers of container images that deployments come from: `<these>/<manifest digest>/<commit>`. libostree's tools for
/// containers keep what lies below `ostree/container/baseimage`, and leave it to who made it.
pub const IMAGE_REFS: &str = "ostree/container/baseimage/careen";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    row(
        TARGET_REF,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy",
        "the requested commit",
    ),
    row(
        PLAN_REF,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy",
        "the commit of a plan",
    ),
    row(
        IMAGE_REFS,
        Kind::Ref,
        "careen-deploy",
        "careen-deploy, tools for container images",
        "below it, for each container image on this node: its manifest's digest and its commit",
    ),
];

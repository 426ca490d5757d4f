//! Refs in the node's OSTree repository.

use super::row::{Kind, Name, row};

/// The ref that protects a fetched commit from pruning.
pub const TARGET_REF: &str = "careen/target";
/// The ref that protects what was fetched of a commit for a plan, during the inspection.
pub const PLAN_REF: &str = "careen/plan";
/// Refs that protect the layers of container images that deployments come from: `<these>/<manifest
/// digest>/<commit>`. libostree's container tools keep everything below
/// `ostree/container/baseimage`, and leave its removal to the creator.
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

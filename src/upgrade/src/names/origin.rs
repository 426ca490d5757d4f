//! Careen's group in a deployment's origin file, which libostree keeps beside it.

use super::row::{Kind, Name, row};

/// The group.
pub const ORIGIN_GROUP: &str = "careen";
/// A key in the group: the pin is Careen's own, which distinguishes it from an administrator's.
pub const ORIGIN_PINNED: &str = "pinned";
/// A key in the group: the last blessing keeps the deployment, whichever program pinned it.
pub const ORIGIN_KEPT: &str = "kept";
/// A key in the group: Careen has begun to make the deployment the default.
pub const ORIGIN_BLESSING: &str = "blessing";

/// Their rows of the table.
pub(super) const ROWS: &[Name] = &[
    key(
        ORIGIN_PINNED,
        "`true` if the deployment's pin is Careen's own; in the group `careen` of its origin, like the next two",
    ),
    key(
        ORIGIN_KEPT,
        "`true` if the last blessing keeps the deployment, even if another program pinned it",
    ),
    key(
        ORIGIN_BLESSING,
        "`true` from before the swap with which Careen makes the deployment the default",
    ),
];

const fn key(name: &'static str, values: &'static str) -> Name {
    row(
        name,
        Kind::OriginKey,
        "careen-deploy",
        "careen-deploy, agent",
        values,
    )
}

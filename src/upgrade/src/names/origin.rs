//! Careen's group in the file that libostree keeps beside a deployment, its origin.

use super::{Kind, Name, row};

/// The group.
pub const ORIGIN_GROUP: &str = "careen";
/// In it: the pin is Careen's own, so that an administrator's can be told from it.
pub const ORIGIN_PINNED: &str = "pinned";
/// In it: the last blessing keeps the deployment, whoever has pinned it.
pub const ORIGIN_KEPT: &str = "kept";
/// In it: Careen has begun to make the deployment the default.
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

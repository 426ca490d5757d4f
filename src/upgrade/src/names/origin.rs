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
        "`true` where the deployment's pin is Careen's own; in the group `careen` of its origin, as the next",
    ),
    key(
        ORIGIN_KEPT,
        "`true` where the last blessing keeps the deployment, whoever has pinned it",
    ),
    key(
        ORIGIN_BLESSING,
        "`true` from before the swap by which Careen makes the deployment the default",
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

//! The decision logic of Careen: what to do next with an upgrade, as a pure function.
//!
//! [`decide`] takes what Careen remembers ([`Record`]), what it observes ([`Observation`]) and what
//! the operator allows ([`Policy`]). It returns a [`Decision`]: one act, and the next record, which
//! the caller must write before the act.
//!
//! The agent, the stage in the initramfs and the model checker call the same function. This crate
//! uses no clock, file, process or network. The `clippy.toml` beside it lists the methods and types
//! that it denies.
#![deny(clippy::wildcard_enum_match_arm)]
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod activity;
pub mod answer;
pub mod bill;
pub mod cause;
pub mod container;
pub mod control_plane;
pub mod counters;
pub mod deadman;
pub mod decide;
pub mod deploy;
pub mod drain_order;
pub mod exit;
pub mod history;
pub mod id;
pub mod image;
pub mod keys;
pub mod launch;
pub mod limits;
pub mod listen;
pub mod names;
pub mod observe;
pub mod phase;
pub mod plan;
pub mod policy;
pub mod reason;
pub mod record;
pub mod release;
pub mod report;
pub mod sanitize;
pub mod serving;
pub mod step;
pub mod target;
pub mod typo;
pub mod version;
pub mod window;
pub mod zone;

pub use activity::Activity;
pub use container::ContainerImage;
pub use decide::{Act, Decision, RecordRead, RecordStore, decide};
pub use id::{BootId, Digest, Malformed, ManifestDigest, Moment, SinceBoot, UpgradeId};
pub use image::{Deployment, ImageFacts, ImageInfo, Room};
pub use keys::{Keys, Pause};
pub use observe::{
    Api, Asked, Cause, Causes, Check, ControlPlaneSeen, Health, Hooks, LastTrial, Machine,
    Membership, NoNetwork, NodeView, Observation, OneShot, TrialEnd, TrialNote, Turn, Unsound,
};
pub use phase::Phase;
pub use policy::{Broken, Policy, PolicyRead};
pub use reason::{Disposition, Reason};
pub use record::{Record, Upgrade};
pub use release::Release;
pub use report::{Doing, Report, report};
pub use serving::Serving;
pub use step::{Effect, Finished, Home, Outcome, Step, StepKind};
pub use target::{Branch, RawRequest, Request, Source, Target, Wanted};
pub use version::Version;

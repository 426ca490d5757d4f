//! Power cuts by the hundred: the real libostree, careen-deploy and the host's record and arming on
//! two small ext4 disks whose every write and flush is written down; then the disks as each cut
//! would leave them, looked at as GRUB looks, mounted, and taken on from there.
//!
//! A test takes a sample. `CAREEN_POWER_CUTS=2000` makes it long, `CAREEN_POWER_SEED` another one,
//! `CAREEN_POWER_ONLY=7` one cut alone; `CAREEN_POWER_SECONDS` ends it, `CAREEN_POWER_JSON` names a
//! file for its report. The disks of a broken promise are left in cargo's folder for tests. Needs
//! root, loop devices and /dev/fuse.

#![allow(missing_docs)]
// What helpers find amiss ends the test, as it should.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod cut;
mod disk;
mod done;
mod eyes;
mod grub;
mod judge;
mod node;
mod plan;
mod recording;
mod report;
mod shelf;
mod soak;
mod story;
mod tree;

// The node and its remote are those of the other tests, which use more of them.
#[allow(dead_code)]
#[path = "../sysroot/generator.rs"]
mod generator;
#[allow(dead_code)]
#[path = "../sysroot/image.rs"]
mod image;
#[allow(dead_code)]
#[path = "../sysroot/keys.rs"]
mod keys;
#[allow(dead_code)]
#[path = "../sysroot/remote.rs"]
mod remote;
#[allow(dead_code)]
#[path = "../sysroot/run.rs"]
mod run;
#[allow(dead_code)]
#[path = "../sysroot/trick.rs"]
mod trick;
#[allow(dead_code)]
#[path = "../sysroot/world.rs"]
mod world;

//! `careen-deploy` against a real libostree, a sysroot in a folder and a remote on loopback. Needs
//! root and the `ostree` and `gpg` programs. What only a boot can show is in `vm-tests`.

#![allow(missing_docs)]
// What helpers find amiss ends the test, as it should.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod accounts;
mod bless;
mod boot_away;
mod clean;
mod clock;
mod crash;
mod deploy;
mod etc;
mod failing;
mod fetch;
mod foreign;
mod forged;
mod full;
mod generator;
mod hold;
mod image;
mod kept;
mod keys;
mod killed;
mod lacks;
mod listing;
mod lock;
mod long;
mod menu;
mod objects;
mod plan;
mod refuse;
mod registry;
mod remote;
mod room;
mod run;
mod running;
mod same;
mod sealed;
mod spare;
mod stock;
mod struck;
mod thaw;
mod traced;
mod trick;
mod undo;
mod verify;
mod world;

//! Observes as much as an initramfs can: no API server, no requests, no health.

use host::boot::{self, Link};
use host::cmdline::Cmdline;
use host::{Error, Places, Result, loader, os};
use upgrade::{Deployment, Home, Machine, NodeView, Observation, SinceBoot, Turn, Unsound};

use crate::args::Args;

/// Whether this boot is a trial. With an unreadable command line it is not.
pub fn is_trial(args: &Args) -> bool {
    Cmdline::read(&args.cmdline).is_ok_and(|cmdline| cmdline.is_trial())
}

/// When the deadman of the initramfs ends this trial, in seconds since boot, if the loader says:
/// the old system has noted how long its own initramfs took. No longer than two hours, whatever it
/// says.
pub fn initramfs_seconds(args: &Args) -> Option<u64> {
    const LONGEST: u64 = 7200;
    let cmdline = Cmdline::read(&args.cmdline).ok()?;
    cmdline.initramfs_seconds().map(|limit| limit.min(LONGEST))
}

/// The time since this boot.
pub fn now(args: &Args) -> SinceBoot {
    // Without a clock nothing is overdue; the watchdog remains.
    args.now
        .map(SinceBoot)
        .or_else(|| os::since_boot().ok())
        .unwrap_or_default()
}

/// The deployment that the loader's `ostree=` points to. It is about to become the root.
pub fn meant(args: &Args) -> Result<(Deployment, std::path::PathBuf)> {
    let cmdline = Cmdline::read(&args.cmdline)?;
    let bad = |detail: String| Error::Damaged {
        path: args.cmdline.clone(),
        detail,
    };
    let text = cmdline
        .ostree()
        .ok_or_else(|| bad("it does not have ostree=".to_owned()))?;
    let link: Link = text
        .parse()
        .map_err(|malformed: upgrade::Malformed| bad(malformed.to_string()))?;
    link.follow(&args.places.sysroot)
}

/// The stage's observation when this deployment runs or is about to run.
pub fn observe(
    args: &Args,
    booted: Deployment,
    integrity: Option<std::result::Result<(), Unsound>>,
) -> Result<Observation> {
    let places: &Places = &args.places;
    Ok(Observation {
        machine: Machine {
            trial: is_trial(args),
            // The initramfs cannot see a separate /boot. In that case the order of deployments is
            // unknown.
            deployments: boot::default_first(places).unwrap_or_default(),
            one_shot: loader::one_shot(places),
            architecture: os::machine()?,
            integrity,
            ..Machine::quiet(booted)
        },
        node: NodeView::default(),
        turn: Turn {
            wall: os::wall(),
            ..Turn::quiet(Home::Stage, os::boot_id(&args.boot_id)?, now(args))
        },
    })
}

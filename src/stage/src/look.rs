//! Observing as far as an initramfs can: no API server, no requests, no health.

use host::boot::{self, Link};
use host::cmdline::Cmdline;
use host::{Error, Places, Result, loader, os};
use upgrade::{Deployment, Home, Machine, NodeView, Observation, SinceBoot, Turn};

use crate::args::Args;

/// Whether this boot is a trial. A command line that cannot be read makes none.
pub fn is_trial(args: &Args) -> bool {
    Cmdline::read(&args.cmdline).is_ok_and(|cmdline| cmdline.is_trial())
}

/// The time since this boot.
pub fn now(args: &Args) -> SinceBoot {
    // Without a clock nothing is overdue; the watchdog is left.
    args.now
        .map(SinceBoot)
        .or_else(|| os::since_boot().ok())
        .unwrap_or_default()
}

/// The deployment that the loader's `ostree=` leads to: it is about to become the root.
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

/// What the stage sees when this deployment runs or is about to.
pub fn observe(
    args: &Args,
    booted: Deployment,
    integrity: Option<std::result::Result<(), String>>,
) -> Result<Observation> {
    let places: &Places = &args.places;
    Ok(Observation {
        machine: Machine {
            trial: is_trial(args),
            // A /boot of its own is out of the initramfs' sight; then no order of deployments is known.
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

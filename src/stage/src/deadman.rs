//! `deadman`: ends a trial that reaches no verdict, whatever became of the agent. Called by a timer every few seconds.

use std::process::{Command, ExitCode, Stdio};

use host::journal::Store;
use host::os;
use upgrade::decide::RecordRead;
use upgrade::{OneShot, Phase, deadman, names, policy};

use crate::args::Args;
use crate::{look, passed, strict};

/// Reboots when the trial is overdue.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    if let Some(limit) = args.limit {
        return overdue(args, look::now(args).0 / 1000 >= limit);
    }
    let read = Store::new(&args.places.sysroot).read();
    match passed::running(args) {
        Some(seen) if deadman::is_due(&seen, &read) => overdue(args, true),
        Some(seen) => {
            if seen.on_trial() && seen.one_shot == OneShot::Set {
                strict::disarm(args);
            }
            rest(args, &read);
            ExitCode::SUCCESS
        }
        // A system that cannot even say what it is has the default time and no more.
        None => overdue(
            args,
            look::now(args).0 / 1000 >= policy::Health::default().deadline_seconds,
        ),
    }
}

fn overdue(args: &Args, overdue: bool) -> ExitCode {
    if !overdue {
        return ExitCode::SUCCESS;
    }
    strict::reboot(args, "the trial has reached no verdict in its time")
}

/// A blessed system needs no further looking after in this boot.
fn rest(args: &Args, read: &RecordRead) {
    let phase = read
        .as_ref()
        .ok()
        .and_then(|record| record.upgrade.as_ref())
        .map(|upgrade| &upgrade.phase);
    if !matches!(phase, Some(Phase::Blessed | Phase::Upgraded))
        || args.dry_run
        || os::since_boot().is_err()
    {
        return;
    }
    let mut stop = Command::new("systemctl");
    stop.args(["--no-block", "stop", names::DEADMAN_TIMER])
        .stdin(Stdio::null());
    if let Err(error) = stop.status() {
        eprintln!("careen-stage: the timer stays, which costs little: {error}");
    }
}

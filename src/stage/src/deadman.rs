//! `deadman`: ends a trial that reaches no verdict, whatever happened to the agent, to systemd, or
//! to the disk.
//!
//! One process serves the whole trial, because a process in memory needs nobody to start it. A disk
//! that no longer answers blocks the process that reads it, and not even SIGKILL ends that. So a
//! thread makes each look, and the main thread touches no disk.

use std::io;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::thread;
use std::time::Duration;

use host::programs::{self, Program};
use host::record::Store;
use host::{durable, memory, mounts, os, power};
use upgrade::{OneShot, SinceBoot, deadman, names};

use crate::args::Args;
use crate::{abort, look, mark, passed};

/// The pause between two looks.
const PAUSE: Duration = Duration::from_secs(30);

/// How long a look may take after the trial is due, in seconds: a disk may be slow, and the trial
/// may be blessed.
const PATIENCE: u64 = 60;

/// How long the note of a trial's end may take. The disk has just answered.
const NOTE: Duration = Duration::from_secs(10);

/// The result of a look.
enum Trial {
    /// There is no trial any more. `proven` means that the record says so and that no trial can
    /// return in this boot.
    Over { proven: bool },
    /// The trial ends at this time without a verdict.
    Until(SinceBoot),
    /// The running system or its record cannot be read at the moment.
    Unreadable,
}

/// Reboots when the trial is overdue.
pub fn run(args: &Args) -> ExitCode {
    if !look::is_trial(args) {
        return ExitCode::SUCCESS;
    }
    if let Some(limit) = args.limit {
        let limit = look::initramfs_seconds(args).unwrap_or(limit);
        return if look::now(args).0 / 1000 >= limit {
            end(args, true)
        } else {
            ExitCode::SUCCESS
        };
    }
    if mark::is_left(args) {
        return ExitCode::SUCCESS;
    }
    if !args.dry_run
        && let Err(error) = memory::stay()
    {
        eprintln!(
            "careen-stage: cannot lock memory: {error}. The deadman continues, but a failing disk may hold it up"
        );
    }
    watch(args)
}

/// Looks until there is nothing left to end.
fn watch(args: &Args) -> ExitCode {
    let mut until = deadman::by_default();
    loop {
        let found = look_in_time(args, until);
        if let Some(Trial::Over { proven }) = found {
            if proven {
                rest(args);
            }
            return ExitCode::SUCCESS;
        }
        until = known(until, found.as_ref());
        if look::now(args) >= until {
            return end(args, found.is_some());
        }
        if args.dry_run {
            return ExitCode::SUCCESS;
        }
        thread::sleep(PAUSE);
    }
}

/// If a look fails, or no thread can be started for it, the last result counts.
fn known(until: SinceBoot, found: Option<&Trial>) -> SinceBoot {
    match found {
        Some(Trial::Until(at)) => *at,
        Some(Trial::Over { .. } | Trial::Unreadable) | None => until,
    }
}

fn end(args: &Args, disk_answers: bool) -> ExitCode {
    let why = if disk_answers {
        "the trial reached no verdict in time"
    } else {
        "the trial's time is over, and the disk does not answer whether it has a verdict"
    };
    if disk_answers && args.limit.is_none() {
        note(args);
    }
    abort::reboot(args, why)
}

/// Leaves a note for the old system, in a file of its own: the agent may be about to write the
/// record. In the initramfs there is nothing to write to yet.
fn note(args: &Args) {
    let (places, mounted) = (args.places.clone(), !args.dry_run);
    let Ok(boot) = os::boot_id(&args.boot_id) else {
        return;
    };
    let write = move || {
        if mounted {
            let writable = mounts::make_private();
            writable.and_then(|()| mounts::make_writable(&places.sysroot))?;
        }
        let file = places.sysroot.join(names::DEADMAN_NOTE);
        durable::write(&file, boot.as_str().as_bytes(), 0o600)
    };
    if let Some(Err(error)) = power::in_time(NOTE, write) {
        eprintln!("careen-stage: cannot note that the deadman ended this trial: {error}");
    }
}

/// Nothing if the look does not finish before the trial is due according to the previous result.
fn look_in_time(args: &Args, until: SinceBoot) -> Option<Trial> {
    let (least, looking) = (args.patience.unwrap_or(PATIENCE), args.clone());
    let limit = patience(until, look::now(args), Duration::from_secs(least));
    power::in_time(limit, move || trial(&looking))
}

fn patience(until: SinceBoot, now: SinceBoot, least: Duration) -> Duration {
    Duration::from_millis(until.0.saturating_sub(now.0)).max(least)
}

fn trial(args: &Args) -> Trial {
    let Some(seen) = passed::running(args) else {
        return Trial::Unreadable;
    };
    let read = Store::new(&args.places.sysroot).read();
    let Some(until) = deadman::due(&seen, &read) else {
        return Trial::Over {
            proven: deadman::is_proven(&seen, &read),
        };
    };
    if seen.machine.one_shot == OneShot::Set {
        abort::clear_one_shot(&args.places, !args.dry_run);
    }
    match read {
        Ok(_) => Trial::Until(until),
        Err(_) => Trial::Unreadable,
    }
}

/// A proven system needs no further supervision in this boot.
fn rest(args: &Args) {
    eprintln!("careen-stage: this system has passed its trial, so the deadman ends");
    mark::leave(args);
    if !args.dry_run {
        stop_timer();
    }
}

fn stop_timer() {
    if let Err(error) = ask_to_stop_it() {
        eprintln!("careen-stage: cannot stop the timer, which does no harm: {error}");
    }
}

fn ask_to_stop_it() -> io::Result<()> {
    let mut stop = Program::Systemctl.command()?;
    stop.args(["--no-block", "stop", names::DEADMAN_TIMER]);
    let ended = stop.stdin(Stdio::null()).output()?;
    if ended.status.success() {
        return Ok(());
    }
    let program = Path::new(stop.get_program());
    Err(io::Error::other(programs::ended(
        program,
        ended.status,
        &ended.stderr,
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_read_for_a_moment_shortens_no_trial() {
        let held = SinceBoot(0).plus_seconds(3_000);
        let first = known(deadman::by_default(), Some(&Trial::Until(held)));
        assert_eq!(first, held);
        assert_eq!(known(first, Some(&Trial::Unreadable)), held);
        assert_eq!(known(first, None), held, "nor a disk that hangs");
    }

    #[test]
    fn a_look_has_until_the_trial_is_due_and_behind_that_a_minute() {
        let least = Duration::from_secs(PATIENCE);
        let at = |seconds| {
            patience(
                deadman::by_default(),
                SinceBoot(0).plus_seconds(seconds),
                least,
            )
        };
        assert_eq!(at(5), Duration::from_secs(655));
        assert_eq!(at(650), least);
        assert_eq!(at(6_000), least);
    }
}

//! `careen-host`: makes this prepared host a node of a cluster, and gives it back clean.

#![deny(clippy::wildcard_enum_match_arm)]
#![deny(clippy::disallowed_methods)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use host::mounts;
use life::{Checks, ClaimId};
use prepared::disk::Owner;
use prepared::settings::{FILE, Settings};
use prepared::turn::Turns;
use prepared::{Disk, Host, OnDisk, Paths, check, clean, facts, join};
use systemd::Notify;

use careen_host::cluster::Cluster;
use careen_host::real::Real;

/// Makes this prepared host a node of a cluster, and gives it back clean.
#[derive(Debug, Parser)]
#[command(name = "careen-host", version = upgrade::release::THIS)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs as a service: registers, and does what the CareenHost of this host says.
    Run,
    /// Shows what a cluster has left on this host. Changes nothing.
    Check,
    /// Asks for a cleaning of a host that is Quarantined.
    Clean,
    /// Runs the bootstrap data of a claim. The service starts it.
    #[command(hide = true)]
    Join { claim: ClaimId },
    /// Cleans up after a claim. The service starts it.
    #[command(hide = true)]
    CleanNow { claim: ClaimId },
}

/// How long to wait after a turn that failed.
const LATER: Duration = Duration::from_secs(10);

fn main() -> ExitCode {
    let paths = Paths::running(Path::new("/"));
    let done = match Cli::parse().verb {
        Verb::Run => run(&paths),
        Verb::Check => return show(&paths),
        Verb::Clean => word(&paths),
        Verb::Join { claim } => joined(&paths, &claim),
        Verb::CleanNow { claim } => cleaned(&paths, &claim),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("careen-host: {why}");
            ExitCode::FAILURE
        }
    }
}

fn run(paths: &Paths) -> Result<(), String> {
    let mut hands = real()?;
    writable()?;
    let settings = Settings::read(Path::new(FILE)).map_err(|error| error.to_string())?;
    let name = settings
        .name
        .clone()
        .unwrap_or_else(|| facts::hostname(paths));
    let ignore = settings.bootstrap.ignore.clone();
    let mut api = Cluster::new(paths, settings, name)?;
    let mut turns = Turns::new(Host::new(paths, &OnDisk), ignore);
    let notify = Notify::from_environment();
    notify.ready();
    loop {
        let pause = turns.turn(&mut hands, &mut api).unwrap_or_else(|error| {
            eprintln!("careen-host: {error}");
            LATER
        });
        std::thread::sleep(pause);
    }
}

fn show(paths: &Paths) -> ExitCode {
    let found = real().map(|real| check::check(paths, &real));
    match found {
        Ok(Checks::Green | Checks::NotRun) => {
            println!("This host is clean.");
            ExitCode::SUCCESS
        }
        Ok(Checks::Red(found)) => {
            println!("{}", found.join("\n"));
            ExitCode::FAILURE
        }
        Err(why) => {
            eprintln!("careen-host: {why}");
            ExitCode::from(2)
        }
    }
}

fn word(paths: &Paths) -> Result<(), String> {
    let written = OnDisk.write(&paths.word(), b"", Owner::root(0o600));
    written.map_err(|error| error.to_string())
}

fn joined(paths: &Paths, claim: &ClaimId) -> Result<(), String> {
    let mut hands = real()?;
    writable()?;
    let done = join::run_and_note(paths, &OnDisk, &mut hands, claim);
    done.map_err(|error| error.to_string())
}

fn cleaned(paths: &Paths, claim: &ClaimId) -> Result<(), String> {
    let mut hands = real()?;
    writable()?;
    let left = clean::clean(paths, &OnDisk, &mut hands, claim);
    for one in &left {
        eprintln!("careen-host: {one}");
    }
    clean::note(paths, &OnDisk, claim, &left).map_err(|error| error.to_string())
}

fn real() -> Result<Real, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    Real::new(program)
}

/// The physical root is read-only for others.
fn writable() -> Result<(), String> {
    mounts::make_private().map_err(|error| error.to_string())?;
    mounts::make_writable(Path::new("/sysroot")).map_err(|error| error.to_string())
}

//! `careen-deploy`: the part of Careen that touches libostree. It runs one verb, and prints JSON
//! lines on standard output. It decides nothing: the agent decides what to do and what a failure
//! means.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;
mod bless;
mod bucket;
mod children;
mod container;
mod critical;
mod deploy;
mod fetch;
mod gc;
mod lock;
mod plan;
mod probe;
mod process;
mod reinstate;
mod relay;
mod report;
mod signal;
mod site;
mod status;
mod thaw;
mod verify;

use std::process::ExitCode;
use std::time::Duration;

use args::{Cli, Verb};
use children::Children;
use clap::Parser;
use gc::{clean, undo};
use site::Site;
use upgrade::Reason;
use upgrade::deploy::{Done, Line};

fn main() -> ExitCode {
    let cli = Cli::parse();
    if matches!(cli.verb, Verb::Thaw) {
        return thaw::run();
    }
    if let Verb::ProbeSandbox(wanted) = &cli.verb {
        return probe::run(wanted);
    }
    if let Verb::RunningPods(runtime) = &cli.verb {
        return probe::running(&runtime.socket);
    }
    let (line, code) = match run(&cli) {
        Ok(done) => (Line::Done(done), ExitCode::SUCCESS),
        Err(reason) => {
            eprintln!("careen-deploy {}: {reason}", cli.verb.name());
            (Line::Failed(reason), ExitCode::FAILURE)
        }
    };
    report::verdict(&line);
    code
}

fn run(cli: &Cli) -> Result<Done, Reason> {
    let verb = cli.verb.name().to_owned();
    report::claim_output().map_err(|error| Reason::DeployFailed {
        verb,
        detail: error.to_string(),
    })?;
    let prepared = process::prepare(cli)?;
    // From here on, a kill may leave /boot frozen.
    let _mark = match prepared.private_mounts && cli.verb.swaps() {
        true => Some(host::freeze::Mark::leave(&cli.sysroot).map_err(|error| {
            let (verb, detail) = (cli.verb.name().to_owned(), error.to_string());
            Reason::DeployFailed { verb, detail }
        })?),
        false => None,
    };
    let site = Site::open(
        &cli.sysroot,
        cli.verb.name(),
        cli.lock_seconds,
        prepared.private_mounts,
    )?;
    if cli.verb.brings() {
        host::repository::close(&cli.sysroot).map_err(|error| site.broken(error))?;
    }
    if cli.verb.cancellable() {
        signal::end_on_signal(&site.stop, site.stopped());
    }
    // A run that may be stopped needs no time limit for its children.
    let children = match cli.verb.swaps() {
        true => Children::bounded(Duration::from_secs(cli.child_seconds)),
        false => Children::default(),
    };
    perform(&cli.verb, &site).map_err(|reason| children.explain(reason))
}

fn perform(verb: &Verb, site: &Site) -> Result<Done, Reason> {
    match verb {
        Verb::Fetch(fetch) => fetch::run(site, fetch),
        Verb::Plan(image) => plan::run(site, image),
        Verb::FetchImage(image) => container::run(site, image),
        Verb::PlanImage(image) => plan::of_container(site, image),
        Verb::Verify(target) => verify::run(site, &target.commit),
        Verb::Deploy(deploy) => deploy::run(site, deploy),
        Verb::Bless(wanted) => bless::run(site, wanted),
        Verb::Reinstate(wanted) => reinstate::run(site, wanted),
        Verb::Undo(undo) => undo::run(site, undo.commit.as_ref()),
        Verb::Clean => clean::run(site),
        Verb::Status | Verb::Thaw | Verb::ProbeSandbox(_) | Verb::RunningPods(_) => {
            status::run(site)
        }
    }
}

//! `careen-stage`: everything that must happen in the initramfs and at the edges of a boot, in one
//! static program.
//!
//! It is strict during a trial (`careen.trial=1`) and does nothing in any other boot, so a person
//! can always rescue a system with the distribution's own tools. It links neither libostree nor a
//! D-Bus nor a Kubernetes client.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod abort;
mod args;
mod check;
mod deadman;
mod fallback;
mod gate;
mod guard;
mod look;
mod mark;
mod passed;
mod refusal;
mod repair;
mod restore;
mod verify;

use std::process::ExitCode;

use args::{Args, Verb};
use upgrade::exit;

fn main() -> ExitCode {
    let args = match args::parse(lexopt::Parser::from_env()) {
        Ok(Some(args)) => args,
        Ok(None) => {
            println!("{}", args::USAGE);
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("careen-stage: {error}\n{}", args::USAGE);
            return ExitCode::from(exit::USAGE);
        }
    };
    run(&args)
}

fn run(args: &Args) -> ExitCode {
    match args.verb {
        Verb::Guard => guard::run(args),
        Verb::Verify => verify::run(args),
        Verb::Check => check::run(args),
        Verb::Deadman => deadman::run(args),
        Verb::Restore => restore::run(args),
        Verb::Repair => repair::run(args),
        Verb::Fallback => fallback::run(args),
        Verb::Gate => gate::run(args),
    }
}

//! The entry point of `careen-control`.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;
mod begin;
mod raised;

use std::process::ExitCode;

use args::{Cli, Verb};
use begin::{now, runtime};
use clap::Parser;
use control::{Folder, Order, exit_code, json, survey, text};
use upgrade::control_plane::findings;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let ended = match cli.verb {
        Verb::Survey(asked) => run(Folder::below(&cli.root), asked),
        Verb::Raise(asked) => raised::run(&cli.root, asked),
        Verb::GiveUp(asked) => raised::give_up(&cli.root, asked),
    };
    match ended {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("careen-control: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: Folder, asked: args::Survey) -> Result<u8, String> {
    let order = Order {
        folder,
        image: asked.target_version,
        now: now(),
    };
    let runtime = runtime("survey")?;
    let found = runtime.block_on(survey(&order));
    let found = found.map_err(|error| error.to_string())?;
    let findings = findings(&found);
    let shown = match asked.json {
        true => json(&found, &findings),
        false => text(&found, &findings),
    };
    print!("{shown}");
    Ok(exit_code(&findings))
}

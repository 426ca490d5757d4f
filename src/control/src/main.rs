//! The entry point of `careen-control`.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use args::{Cli, Verb};
use clap::Parser;
use control::{Folder, Order, exit_code, json, survey, text};
use upgrade::control_plane::findings;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let Verb::Survey(asked) = cli.verb;
    match run(Folder::below(&cli.root), asked) {
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
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| {
        format!("the survey cannot begin: {error}. Look at the limits of this process.")
    })?;
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

/// Seconds since 1970. A clock before that counts as 1970, where no certificate is valid.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

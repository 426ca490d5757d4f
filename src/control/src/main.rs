//! The entry point of `careen-control`.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;

use std::fmt::Display;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use args::{Cli, Verb};
use clap::Parser;
use control::{
    Folder, Order, SaveOrder, exit_code, json, lock, save, survey, text, unlock, r#yield,
};
use serde::Serialize;
use upgrade::control_plane::findings;
use upgrade::exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&Folder::below(&cli.root), cli.verb) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("careen-control: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &Folder, verb: Verb) -> Result<u8, String> {
    match verb {
        Verb::Survey(asked) => look(folder, asked),
        Verb::Lock(asked) => {
            let answer = within(lock(folder, &asked.upgrade, now()))?;
            Ok(told(&answer, answer.exit_code(), asked.json))
        }
        Verb::Unlock(asked) => {
            let answer = within(unlock(folder, &asked.upgrade))?;
            Ok(told(&answer, answer.exit_code(), asked.json))
        }
        Verb::Save(args::Save { upgrade: of, keep }) => {
            let order = SaveOrder {
                upgrade: of.upgrade,
                keep: keep.into(),
                now: now(),
            };
            let answer = within(save(folder, &order))?;
            Ok(told(&answer, answer.exit_code(), of.json))
        }
        Verb::Yield(asked) => {
            let answer = within(r#yield(folder))?;
            Ok(told(&answer, exit::DONE, asked.json))
        }
    }
}

fn look(folder: &Folder, asked: args::Survey) -> Result<u8, String> {
    let order = Order {
        folder: folder.clone(),
        image: asked.target_version,
        now: now(),
    };
    let found = within(survey(&order))?;
    let findings = findings(&found);
    let shown = match asked.json {
        true => json(&found, &findings),
        false => text(&found, &findings),
    };
    print!("{shown}");
    Ok(exit_code(&findings))
}

/// Runs one verb to its end.
fn within<T, E: Display>(work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build();
    let runtime = runtime.map_err(|error| {
        format!("careen-control cannot begin: {error}. Look at the limits of this process.")
    })?;
    runtime.block_on(work).map_err(|error| error.to_string())
}

/// Prints an answer: for a program to standard output, and for a person what went wrong to standard
/// error.
fn told(answer: &(impl Display + Serialize), code: u8, as_json: bool) -> u8 {
    match (as_json, code) {
        // No key of an answer is anything but a text, so this cannot fail.
        (true, _) => println!("{}", serde_json::to_string(answer).unwrap_or_default()),
        (false, exit::DONE) => println!("{answer}"),
        (false, _) => eprintln!("careen-control: {answer}"),
    }
    code
}

/// Seconds since 1970. A clock before that counts as 1970, where no certificate is valid.
fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

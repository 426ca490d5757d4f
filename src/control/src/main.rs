//! The entry point of `careen-control`.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;
mod begin;
mod raised;

use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

use args::{Cli, Verb};
use begin::{now, runtime};
use clap::Parser;
use control::{
    Folder, Image, Order, SaveOrder, exit_code, json, lock, save, survey, text, unlock, r#yield,
};
use serde::Serialize;
use upgrade::control_plane::findings;
use upgrade::exit;

fn main() -> ExitCode {
    let cli = Cli::parse();
    match run(&cli.root, cli.verb) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("careen-control: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, verb: Verb) -> Result<u8, String> {
    let folder = &Folder::below(root);
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
        Verb::Raise(asked) => raised::run(root, asked),
        Verb::GiveUp(asked) => raised::give_up(root, asked),
    }
}

fn look(folder: &Folder, asked: args::Survey) -> Result<u8, String> {
    let order = Order {
        folder: folder.clone(),
        image: image(&asked),
        version: asked.target_version,
        patches: asked.patches,
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

/// The command line demands a version with a kubeadm.
fn image(asked: &args::Survey) -> Option<Image> {
    Some(Image {
        kubeadm: asked.kubeadm.clone()?,
        version: asked.target_version.clone()?,
        runtime: asked.runtime_socket.clone(),
        carried: asked.images.clone(),
    })
}

/// Runs one verb to its end.
fn within<T, E: Display>(work: impl Future<Output = Result<T, E>>) -> Result<T, String> {
    let done = runtime()?.block_on(work);
    done.map_err(|error| error.to_string())
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

//! `careen-image`: turns an OSTree commit into a container image that nodes can be upgraded to.

#![deny(clippy::wildcard_enum_match_arm)]

mod args;

use std::process::ExitCode;

use args::Cli;
use careen_image::destination::Destination;
use careen_image::{Order, push};
use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};

fn main() -> ExitCode {
    let cli = Cli::parse();
    let destination: Destination = match cli.destination.parse() {
        Ok(destination) => destination,
        Err(error) => Cli::command()
            .error(ErrorKind::ValueValidation, error)
            .exit(),
    };
    let order = Order {
        repo: cli.repo,
        revision: cli.revision,
        destination,
        authfile: cli.authfile,
    };
    match push(&order) {
        Ok(image) => {
            println!("{image}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("careen-image: {error:#}");
            ExitCode::FAILURE
        }
    }
}

//! The entry point of `kubectl-careen`.

#![deny(clippy::wildcard_enum_match_arm)]

use std::process::ExitCode;

use clap::Parser;
use kubectl::cli::{Cli, When};
use kubectl::complete;
use kubectl::console::Console;
use kubectl::exit::Exit;
use kubectl::failure::Failure;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    if let Some(words) = complete::asked(std::env::args_os()) {
        let mut console = Console::of_process(When::Never);
        let printed = console.print(&complete::answer(&words));
        return end(printed.map(|()| Exit::Done), &mut console);
    }
    let cli = Cli::parse();
    let mut console = Console::of_process(cli.color);
    let ended = kubectl::run(&cli, &mut console).await;
    end(ended, &mut console)
}

fn end(ended: Result<Exit, Failure>, console: &mut Console) -> ExitCode {
    let exit = ended.unwrap_or_else(|failure| {
        // The reader closed the pipe: `kubectl careen status | head` has read what it wanted.
        if !failure.is_closed_pipe() {
            console.complain(&failure);
        }
        failure.exit()
    });
    ExitCode::from(Exit::code(exit))
}

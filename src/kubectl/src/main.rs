//! `kubectl-careen`: wiring.

use std::process::ExitCode;

use clap::Parser;
use kubectl::cli::Cli;
use kubectl::console::Console;
use kubectl::exit::Exit;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let cli = Cli::parse();
    let mut console = Console::of_process(cli.color);
    let exit = match kubectl::run(&cli, &mut console).await {
        Ok(exit) => exit,
        Err(failure) => {
            // Nobody reads any more: `kubectl careen status | head` has had what it wanted.
            if !failure.is_closed_pipe() {
                console.complain(&failure);
            }
            failure.exit()
        }
    };
    ExitCode::from(Exit::code(exit))
}

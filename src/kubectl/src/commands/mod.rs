//! The commands, one file for each. They read, decide with pure functions, write and print.

mod act;
mod ask;
mod cancel;
mod choose;
mod ended;
mod explain;
mod follow;
mod history;
mod host;
mod interrupt;
mod pause;
mod plan;
mod put;
mod rollout;
mod session;
mod show;
mod status;
mod unlock;

use clap::CommandFactory;

use crate::api::Cluster;
use crate::cli::{Cli, Command};
use crate::console::Console;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::request::{Aim, Rollback, Wish};

use session::Session;

/// Runs a command line.
///
/// # Errors
/// See [`Failure`]; the command has printed its output before.
pub async fn run(cli: &Cli, console: &mut Console) -> Result<Exit, Failure> {
    if let Command::Completion(asked) = &cli.command {
        return completion(asked.shell, console);
    }
    let cluster = Cluster::connect(cli.kubeconfig.as_deref(), cli.context.as_deref())?;
    let mut session = Session {
        cluster,
        console,
        format: cli.output,
    };
    command(cli, &mut session).await
}

async fn command(cli: &Cli, session: &mut Session<'_>) -> Result<Exit, Failure> {
    match &cli.command {
        Command::Plan(asked) => plan::run(asked, session).await,
        Command::Upgrade(asked) => {
            let aim = Aim::Upgrade(Wish::from(asked));
            ask::run(&asked.nodes, &asked.asking, aim, session).await
        }
        Command::Status(asked) => status::run(asked, session).await,
        Command::Explain(asked) => explain::run(&asked.node, session).await,
        Command::History(asked) => history::run(asked, session).await,
        Command::Cancel(asked) => cancel::run(asked, session).await,
        Command::Retry(asked) => ask::run(&asked.nodes, &asked.asking, Aim::Retry, session).await,
        Command::Rollback(asked) => {
            let aim = Aim::Rollback(Rollback::from(asked));
            ask::run(&asked.nodes, &asked.asking, aim, session).await
        }
        Command::Pause(asked) => pause::pause(asked, session).await,
        Command::Resume(asked) => pause::resume(asked, session).await,
        Command::Unlock(asked) => unlock::run(asked, session).await,
        Command::Host(asked) => host::run(cli, asked, session).await,
        // It needs no API server, and was handled above.
        Command::Completion(_) => Ok(Exit::Done),
    }
}

fn completion(shell: clap_complete::Shell, console: &mut Console) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    let mut command = Cli::command();
    let name = command.get_name().to_owned();
    clap_complete::generate(shell, &mut command, name, &mut script);
    console.print(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}

//! Generates `docs/kubectl-careen.md` from the command line and the exit codes, so that the page
//! matches them.

mod data;

use std::fmt::Write;

use clap::{Arg, Command, CommandFactory};

use crate::cli::Cli;
use crate::exit::Exit;

const HEAD: &str = include_str!("reference/head.md");
const TAIL: &str = include_str!("reference/tail.md");

/// The page.
#[must_use]
pub fn page() -> String {
    let mut cli = Cli::command();
    cli.build();
    let mut text = HEAD.to_owned();
    for command in cli
        .get_subcommands()
        .filter(|command| command.get_name() != "help" && !command.is_hide_set())
    {
        text += &section(command);
    }
    text += "## Everywhere\n\n";
    let own = |argument: &&Arg| !["help", "version"].contains(&argument.get_id().as_str());
    text += &options(cli.get_arguments().filter(own));
    text += "## Exit codes\n\n| code | meaning |\n|---|---|\n";
    for exit in Exit::ALL {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "| {} | {} |", exit.code(), exit.meaning());
    }
    text += "\nWhere nodes end differently, the highest is given.\n\n";
    text += &data::section();
    text + TAIL
}

fn section(command: &Command) -> String {
    let about = command
        .get_about()
        .map(ToString::to_string)
        .unwrap_or_default();
    let usage = command.clone().render_usage().to_string();
    let usage = usage.trim_start_matches("Usage: ");
    let own = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && arg.get_id() != "help");
    format!(
        "## {}\n\n{about}.\n\n    {usage}\n\n{}",
        command.get_name(),
        options(own)
    )
}

fn options<'a>(arguments: impl Iterator<Item = &'a Arg>) -> String {
    let rows: String = arguments
        .map(|argument| format!("| `{}` | {} |\n", shown(argument), help(argument)))
        .collect();
    if rows.is_empty() {
        return rows;
    }
    format!("| | |\n|---|---|\n{rows}\n")
}

/// As `-o, --output <FORMAT>`, or `[NODE]...` for a positional argument.
fn shown(argument: &Arg) -> String {
    let short = argument.get_short().map(|short| format!("-{short}"));
    let long = argument.get_long().map(|long| format!("--{long}"));
    let names: Vec<String> = short.into_iter().chain(long).collect();
    if names.is_empty() {
        return argument.to_string();
    }
    let value = match (
        argument.get_action().takes_values(),
        argument.get_value_names(),
    ) {
        (true, Some([name, ..])) => format!(" <{name}>"),
        _ => String::new(),
    };
    names.join(", ") + &value
}

fn help(argument: &Arg) -> String {
    let mut text = argument
        .get_help()
        .map(ToString::to_string)
        .unwrap_or_default();
    let values = argument.get_possible_values();
    let values: Vec<String> = values
        .iter()
        .map(|value| format!("`{}`", value.get_name()))
        .collect();
    if argument.get_action().takes_values() && !values.is_empty() {
        text += &format!(" ({})", values.join(", "));
    }
    let default = argument.get_default_values().first();
    if let (true, Some(default)) = (argument.get_action().takes_values(), default) {
        let _ = write!(text, "; default `{}`", default.display());
    }
    text.replace('|', "\\|")
}

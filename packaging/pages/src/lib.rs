//! Manual pages and shell completions of the programs that a person runs.
//!
//! They are made from the command lines as the programs parse them, whenever packages are built, so there is nothing to drift.
//! The command lines' own files are taken in here where the program's crate has no library, or links libostree.
//! `careen-stage` and `careen-grub` are called by units and by libostree alone, and have neither page nor completion.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

#[path = "../../../src/agent/src/args.rs"]
mod agent;
// Its functions serve the program alone.
#[allow(dead_code)]
#[path = "../../../src/deploy/src/args.rs"]
mod deploy;
#[path = "../../../src/image/src/args.rs"]
mod image;

/// The shells, each with the folder below the target that its completions go to.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash"),
    (Shell::Zsh, "zsh"),
    (Shell::Fish, "fish"),
];

/// The command lines of all programs that have pages, each with the section of the manual that it belongs to: 8 is for who
/// administers a node, 1 for everybody.
#[must_use]
pub fn commands() -> Vec<(Command, &'static str)> {
    vec![
        (agent::Cli::command(), "8"),
        (deploy::Cli::command(), "8"),
        (image::Cli::command(), "1"),
        (kubectl::cli::Cli::command(), "1"),
    ]
}

/// Writes the pages into `man` and a folder of completions for each shell, all below `out`.
///
/// # Errors
/// When a file cannot be written.
pub fn write(out: &Path) -> Result<()> {
    let man = folder(out, "man")?;
    for (mut command, section) in commands() {
        // Before completions are made of it, which builds the command: `help` needs no pages of its own.
        let mut without_help = command.clone().disable_help_subcommand(true);
        without_help.build();
        page(&without_help, section, &man)?;
        // Who has this command writes its own completions.
        if command.find_subcommand("completion").is_some() {
            continue;
        }
        for (shell, name) in SHELLS {
            let program = command.get_name().to_owned();
            clap_complete::generate_to(shell, &mut command, program, folder(out, name)?)?;
        }
    }
    Ok(())
}

/// The page of a command and those of its subcommands, to which it refers.
fn page(command: &Command, section: &str, man: &Path) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        page(subcommand, section, man)?;
    }
    // Without a date: it would be the day of the build.
    let page = Man::new(command.clone()).section(section);
    let source = concat!("Careen ", env!("CARGO_PKG_VERSION"));
    page.source(source)
        .generate_to(man)
        .with_context(|| format!("no page for {}", command.get_name()))?;
    Ok(())
}

fn folder(out: &Path, name: &str) -> Result<PathBuf> {
    let folder = out.join(name);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

//! Manual pages and shell completions of the programs that a person runs.
//!
//! The package build generates them from the command lines as the programs parse them, so they
//! cannot drift. This crate includes the source files of the command lines where the program's
//! crate has no library, or links libostree. Only units and libostree call `careen-stage` and
//! `careen-grub`, so these two have neither page nor completion.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

#[path = "../../../src/agent/src/args.rs"]
mod agent;
#[path = "../../../src/control/src/args.rs"]
mod control;
// Only the program uses its functions.
#[allow(dead_code)]
#[path = "../../../src/deploy/src/args.rs"]
mod deploy;
#[path = "../../../src/image/src/args.rs"]
mod image;

/// The shells, each with the folder below the target for its completions.
const SHELLS: [(Shell, &str); 3] = [
    (Shell::Bash, "bash"),
    (Shell::Zsh, "zsh"),
    (Shell::Fish, "fish"),
];

/// The command lines of all programs with pages, each with its section of the manual: 8 is for
/// administrators of a node, 1 for every user.
#[must_use]
pub fn commands() -> Vec<(Command, &'static str)> {
    vec![
        (agent::Cli::command(), "8"),
        (control::Cli::command(), "8"),
        (deploy::Cli::command(), "8"),
        (image::Cli::command(), "1"),
        (kubectl::cli::Cli::command(), "1"),
    ]
}

/// Writes the pages into `man` and a folder of completions for each shell, all below `out`.
///
/// # Errors
/// When a file is not writable.
pub fn write(out: &Path) -> Result<()> {
    let man = folder(out, "man")?;
    for (mut command, section) in commands() {
        // This comes before the completions, because they build the command: `help` needs no pages
        // of its own.
        let mut without_help = command.clone().disable_help_subcommand(true);
        without_help.build();
        page(&without_help, section, &man)?;
        // A program with this command writes its own completions.
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

/// The page of a command and the pages of its subcommands, to which it refers.
fn page(command: &Command, section: &str, man: &Path) -> Result<()> {
    for subcommand in command.get_subcommands().filter(|sub| !sub.is_hide_set()) {
        page(subcommand, section, man)?;
    }
    // Without a date, because the date would be the day of the build.
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

//! The command line.

use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand, ValueEnum};

/// Measures upgrades of control planes beside the same by hand.
#[derive(Debug, Parser)]
pub struct Arguments {
    /// The careen-control to measure, as images ship it.
    control: Option<PathBuf>,
    /// How often each quantity is measured. The raises have rounds of their own.
    #[arg(long, default_value_t = 3)]
    pub runs: usize,
    /// What to measure.
    #[arg(
        long,
        value_enum,
        value_delimiter = ',',
        default_value = "survey,snapshot,raise,single,turns"
    )]
    pub parts: Vec<Part>,
    /// What cargo gives to each benchmark.
    #[arg(long, hide = true)]
    bench: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

/// A part of the benchmark.
#[derive(Debug, Clone, Copy, ValueEnum)]
pub enum Part {
    /// C1 to C3: the upgrade of three members, one after the other.
    Turns,
    /// C4: one raise.
    Raise,
    /// C6 and C8: the upgrade of the only member.
    Single,
    /// C5: one snapshot.
    Snapshot,
    /// C7: one survey.
    Survey,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Runs a program and prints what it took, as JSON.
    #[command(hide = true)]
    Measured {
        /// The program and its arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, required = true)]
        command: Vec<String>,
    },
}

impl Arguments {
    /// The command that is to be run and measured by this process.
    pub fn measured(&self) -> Option<&[String]> {
        match &self.verb {
            Some(Verb::Measured { command }) => Some(command),
            None => None,
        }
    }

    /// careen-control.
    pub fn control(&self) -> Result<PathBuf> {
        let control = self.control.as_ref();
        let control = control.context("no careen-control. Name its path: control-bench PATH")?;
        let whole = control.canonicalize();
        whole.with_context(|| format!("no careen-control: {}", control.display()))
    }
}

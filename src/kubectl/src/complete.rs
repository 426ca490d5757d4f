//! The candidates for `kubectl careen <TAB>`. kubectl runs `kubectl_complete-careen`, which runs
//! `kubectl-careen __complete` with the words after `careen`. The last word is incomplete and may
//! be empty. The answer has cobra's format: one line per candidate, a tab before its description,
//! and a directive for the shell at the end.
//!
//! The completion does not contact the API server, so it offers no names of nodes.

use std::ffi::OsString;
use std::fmt::Write;

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory, ValueHint};

use crate::cli::Cli;

/// The argument that requests a completion. It is not a command of the command line, because clap
/// would parse the flags among the words as its own.
pub const VERB: &str = "__complete";

/// The shell completes file names best: cobra's `ShellCompDirectiveDefault`.
const FILES: &str = ":0";

/// The shell must not offer files: cobra's `ShellCompDirectiveNoFileComp`.
const NO_FILES: &str = ":4";

/// The words to complete, if these process arguments request a completion.
pub fn asked(arguments: impl IntoIterator<Item = OsString>) -> Option<Vec<String>> {
    let mut arguments = arguments.into_iter().skip(1);
    let is_question = arguments.next()? == VERB;
    is_question.then(|| {
        arguments
            .map(|word| word.to_string_lossy().into_owned())
            .collect()
    })
}

/// The answer.
#[must_use]
pub fn answer(words: &[String]) -> String {
    let mut root = Cli::command();
    // Only after this does every command know the global flags.
    root.build();
    let (written, before) = match words.split_last() {
        Some((written, before)) => (written.as_str(), before),
        None => ("", words),
    };
    let place = before.iter().fold(Place::first(&root), Place::after);
    place.offers(written)
}

/// The place of a word in a command line.
#[derive(Clone, Copy)]
struct Place<'a> {
    command: &'a Command,
    /// The word is the value of this argument.
    value_of: Option<&'a Arg>,
    /// After `--` nothing is a flag or a command.
    plain: bool,
}

impl<'a> Place<'a> {
    const fn first(command: &'a Command) -> Self {
        Self {
            command,
            value_of: None,
            plain: false,
        }
    }

    /// The place after this word.
    fn after(self, word: &String) -> Self {
        let next = Self {
            value_of: None,
            ..self
        };
        if self.value_of.is_some() || self.plain {
            return next;
        }
        if word == "--" {
            return Self {
                plain: true,
                ..next
            };
        }
        if word.starts_with('-') {
            let value_of = self.flag_without_value(word);
            return Self { value_of, ..self };
        }
        let command = self.command.find_subcommand(word);
        command.map_or(next, Self::first)
    }

    /// The flag whose value is the next word.
    fn flag_without_value(self, word: &str) -> Option<&'a Arg> {
        if let Some(long) = word.strip_prefix("--") {
            // With `=` the value is already there, and no flag has such a name.
            return self.long(long).filter(|flag| takes_value(flag));
        }
        // In a group of short flags, all are switches until one takes the rest, or the next word,
        // as its value.
        let (at, flag) = word.char_indices().skip(1).find_map(|(at, short)| {
            let flag = self.short(short).filter(|flag| takes_value(flag))?;
            Some((at + short.len_utf8(), flag))
        })?;
        (at == word.len()).then_some(flag)
    }

    fn long(self, name: &str) -> Option<&'a Arg> {
        let mut flags = self.command.get_arguments();
        flags.find(|flag| flag.get_long() == Some(name))
    }

    fn short(self, name: char) -> Option<&'a Arg> {
        let mut flags = self.command.get_arguments();
        flags.find(|flag| flag.get_short() == Some(name))
    }

    fn offers(self, written: &str) -> String {
        if let Some(flag) = self.value_of {
            return values(flag, written);
        }
        if self.plain || !written.starts_with('-') {
            return self.words(written);
        }
        match written.split_once('=') {
            // The shell strips the part before the `=` and adds it back.
            Some((flag, value)) => match self.long(flag.trim_start_matches('-')) {
                Some(flag) => values(flag, value),
                None => told([], written, NO_FILES),
            },
            None => told(self.flags(), written, NO_FILES),
        }
    }

    /// Commands, or values of positional arguments.
    fn words(self, written: &str) -> String {
        let commands = self.command.get_subcommands().filter(|_| !self.plain);
        let commands = commands.filter(|command| !command.is_hide_set());
        let commands = commands.map(|command| {
            let about = command.get_about().map(ToString::to_string);
            (command.get_name().to_owned(), about)
        });
        let nameless = self.command.get_positionals().flat_map(possible);
        told(commands.chain(nameless), written, NO_FILES)
    }

    fn flags(self) -> impl Iterator<Item = Candidate> {
        let flags = self.command.get_arguments().filter(|flag| {
            let has_name = flag.get_long().is_some() || flag.get_short().is_some();
            has_name && !flag.is_hide_set()
        });
        flags.flat_map(|flag| {
            let long = flag.get_long().map(|long| format!("--{long}"));
            let short = flag.get_short().map(|short| format!("-{short}"));
            let help = flag.get_help().map(ToString::to_string);
            let names = long.into_iter().chain(short);
            names.map(move |name| (name, help.clone()))
        })
    }
}

/// A word and its description.
type Candidate = (String, Option<String>);

fn takes_value(flag: &Arg) -> bool {
    flag.get_action().takes_values()
}

fn values(flag: &Arg, written: &str) -> String {
    let is_file = matches!(
        flag.get_value_hint(),
        ValueHint::AnyPath | ValueHint::FilePath
    );
    let directive = if is_file { FILES } else { NO_FILES };
    told(possible(flag), written, directive)
}

fn possible(argument: &Arg) -> impl Iterator<Item = Candidate> + use<> {
    let told = |value: PossibleValue| {
        let help = value.get_help().map(ToString::to_string);
        (value.get_name().to_owned(), help)
    };
    argument.get_possible_values().into_iter().map(told)
}

/// The candidates that start with the written text.
fn told(candidates: impl IntoIterator<Item = Candidate>, written: &str, directive: &str) -> String {
    let mut text = String::new();
    for (word, help) in candidates {
        if !word.starts_with(written) {
            continue;
        }
        // Writing to a String cannot fail.
        let _ = match help.as_deref().and_then(|help| help.lines().next()) {
            Some(help) => writeln!(text, "{word}\t{help}"),
            None => writeln!(text, "{word}"),
        };
    }
    text + directive + "\n"
}

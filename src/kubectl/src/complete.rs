//! What `kubectl careen <TAB>` offers. kubectl asks `kubectl_complete-careen`, and that asks `kubectl-careen __complete`, with the
//! words behind `careen`, the one that is being written last, perhaps empty. The answer has cobra's form: a line for each
//! candidate, a tab before its description, and at the end a directive for the shell.
//!
//! Nothing here asks the API server: names of nodes are not offered.

use std::ffi::OsString;
use std::fmt::Write;

use clap::builder::PossibleValue;
use clap::{Arg, Command, CommandFactory, ValueHint};

use crate::cli::Cli;

/// The word by which it is asked. No command of the command line: clap would take the flags among the words for its own.
pub const VERB: &str = "__complete";

/// Where a file is wanted the shell knows best: cobra's `ShellCompDirectiveDefault`.
const FILES: &str = ":0";

/// Elsewhere it must not offer files: cobra's `ShellCompDirectiveNoFileComp`.
const NO_FILES: &str = ":4";

/// The words of the question, where these arguments of the process are one.
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
    // Only then every command knows the flags that all have.
    root.build();
    let (written, before) = match words.split_last() {
        Some((written, before)) => (written.as_str(), before),
        None => ("", words),
    };
    let place = before.iter().fold(Place::first(&root), Place::after);
    place.offers(written)
}

/// Where in a command line a word stands.
#[derive(Clone, Copy)]
struct Place<'a> {
    command: &'a Command,
    /// The word is the value of this one.
    value_of: Option<&'a Arg>,
    /// Behind `--` nothing is a flag or a command.
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

    /// Behind this word.
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

    /// The flag whose value is to be the next word.
    fn flag_without_value(self, word: &str) -> Option<&'a Arg> {
        if let Some(long) = word.strip_prefix("--") {
            // With `=` the value stands there already, and no flag has such a name.
            return self.long(long).filter(|flag| takes_value(flag));
        }
        // Of several in one word all are switches but the last, or the rest is its value.
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
            // The shell has taken off what stands before the `=`, and puts it back.
            Some((flag, value)) => match self.long(flag.trim_start_matches('-')) {
                Some(flag) => values(flag, value),
                None => told([], written, NO_FILES),
            },
            None => told(self.flags(), written, NO_FILES),
        }
    }

    /// Commands, or values of what has no name.
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

/// A word and what it means.
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

/// Those that begin with what is written.
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

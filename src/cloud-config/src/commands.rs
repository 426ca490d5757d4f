//! `bootcmd` and `runcmd`, as cloud-init's `util.shellify` understands them: a text is a line of
//! shell, a list is one command with its arguments.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// One command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Command {
    /// A line of shell.
    Line(String),
    /// A program and its arguments.
    Words(Vec<String>),
}

impl<'de> Deserialize<'de> for Command {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(OneCommand)
    }
}

struct OneCommand;

impl<'de> Visitor<'de> for OneCommand {
    type Value = Command;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a list of texts")
    }

    fn visit_str<E>(self, line: &str) -> Result<Command, E> {
        Ok(Command::Line(line.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut words: A) -> Result<Command, A::Error> {
        let mut all = Vec::new();
        while let Some(word) = words.next_element()? {
            all.push(word);
        }
        Ok(Command::Words(all))
    }
}

impl Command {
    fn line(&self) -> String {
        match self {
            Self::Line(line) => line.clone(),
            Self::Words(words) => {
                let quoted: Vec<_> = words.iter().map(|word| quoted(word)).collect();
                quoted.join(" ")
            }
        }
    }
}

fn quoted(word: &str) -> String {
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// One script of these commands. As with cloud-init, the script goes on after a command that fails.
#[must_use]
pub fn script(commands: &[Command]) -> String {
    let lines = commands
        .iter()
        .map(|command| format!("{}\n", command.line()));
    format!("#!/bin/sh\n{}", lines.collect::<String>())
}

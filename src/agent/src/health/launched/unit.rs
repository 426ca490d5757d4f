//! What the files of a unit say about its commands and their variables.

use std::fs;
use std::path::{Path, PathBuf};

use super::super::ownership::below;

/// The commands of a start (systemd.service(5)).
const STARTS: [&str; 4] = ["ExecCondition", "ExecStartPre", MAIN, "ExecStartPost"];

/// The main one.
const MAIN: &str = "ExecStart";

/// A command.
#[derive(Debug)]
pub(super) struct Command {
    key: &'static str,
    /// What it runs.
    pub line: String,
}

impl Command {
    /// Whether it is the main one, whose program systemd tells.
    pub(super) fn is_main(&self) -> bool {
        self.key == MAIN
    }
}

/// The value of a variable, and the file that sets it.
#[derive(Debug)]
pub(super) struct Variable {
    name: String,
    pub value: String,
    pub file: PathBuf,
}

/// What the files say.
#[derive(Debug, Default)]
pub(super) struct Unit {
    /// The commands of a start.
    pub commands: Vec<Command>,
    variables: Vec<Variable>,
    environment: Vec<PathBuf>,
}

impl Unit {
    /// Reads these files of a unit, and the environment files that they name.
    pub(super) fn read<'a>(root: &Path, files: impl Iterator<Item = &'a Path>) -> Self {
        let mut unit = Self::default();
        for file in files {
            unit.take(file, &text(root, file));
        }
        // They override what `Environment=` sets (systemd.exec(5)).
        for file in std::mem::take(&mut unit.environment) {
            for line in text(root, &file).lines().map(str::trim) {
                if !line.starts_with(['#', ';']) {
                    unit.set(&file, line);
                }
            }
        }
        unit
    }

    /// The last value of this variable.
    pub(super) fn variable(&self, name: &str) -> Option<&Variable> {
        let mut all = self.variables.iter().rev();
        all.find(|variable| variable.name == name)
    }

    /// An empty value removes those before it.
    fn take(&mut self, file: &Path, text: &str) {
        let joined = text.replace("\\\n", " ");
        for (name, value) in joined.lines().filter_map(|line| line.split_once('=')) {
            let (name, value) = (name.trim(), value.trim());
            match name {
                "EnvironmentFile" if value.is_empty() => self.environment.clear(),
                "EnvironmentFile" => self.environment.push(value.trim_start_matches('-').into()),
                "Environment" if value.is_empty() => self.variables.clear(),
                "Environment" => words(value).iter().for_each(|word| self.set(file, word)),
                _ => self.command(name, value),
            }
        }
    }

    fn command(&mut self, name: &str, value: &str) {
        let Some(key) = STARTS.into_iter().find(|key| *key == name) else {
            return;
        };
        if value.is_empty() {
            self.commands.retain(|command| command.key != key);
        } else {
            let line = value.to_owned();
            self.commands.push(Command { key, line });
        }
    }

    fn set(&mut self, file: &Path, assignment: &str) {
        if let Some((name, value)) = assignment.split_once('=') {
            self.variables.push(Variable {
                name: name.trim().to_owned(),
                value: value.trim().trim_matches(['"', '\'']).to_owned(),
                file: file.to_owned(),
            });
        }
    }
}

fn text(root: &Path, file: &Path) -> String {
    let text = fs::read(below(root, file)).unwrap_or_default();
    String::from_utf8_lossy(&text).into_owned()
}

/// The words of a value, each of which may be quoted as a whole.
fn words(value: &str) -> Vec<String> {
    let (mut words, mut quote) = (vec![String::new()], None);
    for letter in value.chars() {
        match (quote, letter) {
            (None, '"' | '\'') => quote = Some(letter),
            (Some(open), _) if open == letter => quote = None,
            (None, _) if letter.is_whitespace() => words.push(String::new()),
            (_, _) => {
                if let Some(word) = words.last_mut() {
                    word.push(letter);
                }
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environment_files_override_and_empty_values_reset() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| fs::write(root.path().join(path), text).unwrap();
        write(
            "x.service",
            "[Service]\nEnvironment=A=1 \"B=2 3\" 'C=4'\nEnvironmentFile=-/x.env\n\
             ExecStartPre=/a\nExecStart=/b\nExecStartPre=\nExecStartPre=/c \\\n  d\n",
        );
        write("x.env", "# D=5\nA = '9'\n");
        let unit = Unit::read(root.path(), [Path::new("/x.service")].into_iter());
        let value = |name| unit.variable(name).map(|found| found.value.as_str());
        assert_eq!(
            ["A", "B", "C", "D"].map(value),
            [Some("9"), Some("2 3"), Some("4"), None]
        );
        let file = unit.variable("A").map(|found| found.file.as_path());
        assert_eq!(file, Some(Path::new("/x.env")));
        let lines = unit.commands.iter().map(|command| command.line.as_str());
        assert_eq!(lines.collect::<Vec<_>>(), ["/b", "/c    d"]);
    }
}

//! Parses the parts of a Containerfile that the rig can follow. It rejects everything else, because
//! a skipped line would be an untested line.

use anyhow::{Context, Result, bail, ensure};

/// The content of a Containerfile.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Containerfile {
    /// The base image.
    pub base: String,
    /// The steps, in order.
    pub steps: Vec<Step>,
    /// The user that the image runs as.
    pub user: Option<String>,
    /// The program that runs, whatever the arguments are.
    pub entrypoint: Vec<String>,
    /// The default arguments.
    pub arguments: Vec<String>,
}

/// One step.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// Copies a file or folder of the context to a path in the image.
    Copy {
        /// In the context.
        from: String,
        /// In the image.
        to: String,
    },
    /// Installs these Debian packages.
    Install(Vec<String>),
    /// Runs this in a shell.
    Run(String),
}

impl Containerfile {
    /// Parses a Containerfile.
    ///
    /// # Errors
    ///
    /// Fails when it contains something that the rig does not follow. The message has the line.
    pub fn parse(text: &str) -> Result<Self> {
        let mut recipe = Self::default();
        for line in instructions(text) {
            let taken = recipe.take(&line);
            taken.with_context(|| format!("in the recipe's line {line:?}"))?;
        }
        ensure!(!recipe.base.is_empty(), "the recipe has no FROM");
        Ok(recipe)
    }

    fn take(&mut self, line: &str) -> Result<()> {
        let (instruction, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let is_first = self.base.is_empty();
        ensure!(
            is_first == (instruction == "FROM"),
            "the rig follows one FROM, at the beginning"
        );
        let rest = rest.trim();
        match instruction {
            "FROM" => self.base = word(rest)?.to_owned(),
            "COPY" => self.steps.push(copy(rest)?),
            "RUN" => self.steps.push(run(rest)?),
            "USER" => self.user = Some(word(rest)?.to_owned()),
            "ENTRYPOINT" => self.entrypoint = list(rest)?,
            "CMD" => self.arguments = list(rest)?,
            other => bail!(
                "the rig does not follow {other}: teach it to in vm-tests/rig/src/images/containerfile.rs"
            ),
        }
        Ok(())
    }
}

/// The lines without comments, with continued lines joined.
fn instructions(text: &str) -> Vec<String> {
    let mut all = Vec::new();
    let mut open = String::new();
    let lines = text.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty() && !line.starts_with('#')) {
        match line.strip_suffix('\\') {
            Some(part) => open.push_str(part),
            None => all.push(std::mem::take(&mut open) + line),
        }
    }
    all.extend(Some(open).filter(|rest| !rest.is_empty()));
    all
}

fn word(rest: &str) -> Result<&str> {
    let is_one = !rest.is_empty() && !rest.contains(char::is_whitespace);
    ensure!(is_one, "the rig follows it with one word, not {rest:?}");
    Ok(rest)
}

/// The form without a shell, in which signals reach the program.
fn list(rest: &str) -> Result<Vec<String>> {
    serde_json::from_str(rest).with_context(|| format!("a list in JSON is wanted, not {rest}"))
}

fn copy(rest: &str) -> Result<Step> {
    let words: Vec<&str> = rest.split_whitespace().collect();
    match words.as_slice() {
        [from, to] if !from.starts_with("--") => Ok(Step::Copy {
            from: (*from).to_owned(),
            to: (*to).to_owned(),
        }),
        _ => bail!("the rig follows COPY with one source and one place, without a flag"),
    }
}

fn run(rest: &str) -> Result<Step> {
    let is_plain = !rest.is_empty() && !rest.starts_with("--") && !rest.starts_with('[');
    ensure!(is_plain, "the rig follows RUN with a shell's command alone");
    let commands: Vec<&str> = rest.split("&&").map(str::trim).collect();
    if !commands.iter().any(|it| it.starts_with("apt-get")) {
        return Ok(Step::Run(rest.to_owned()));
    }
    let packages = commands.into_iter().map(packages);
    let packages = packages.collect::<Result<Vec<_>>>()?;
    Ok(Step::Install(packages.concat()))
}

/// The packages that an apt command installs. The rig parses such a line and does not run it,
/// because a scenario has no network.
fn packages(command: &str) -> Result<Vec<String>> {
    let words: Vec<&str> = command.split_whitespace().collect();
    match words.as_slice() {
        ["apt-get", "update"] | ["rm", "-rf", "/var/lib/apt/lists/*"] => Ok(Vec::new()),
        ["apt-get", "install", rest @ ..] => {
            let names = rest.iter().filter(|word| !word.starts_with('-'));
            Ok(names.map(ToString::to_string).collect())
        }
        _ => bail!("in a line with apt-get the rig does not follow {command:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHIPPED: &str = include_str!("../../../../packaging/daemonset/Containerfile");

    fn refused(line: &str) -> String {
        let error = Containerfile::parse(&format!("FROM debian:trixie\n{line}\n")).unwrap_err();
        format!("{error:#}")
    }

    #[test]
    fn the_recipe_of_the_daemonset_is_followed_line_by_line() {
        let recipe = Containerfile::parse(SHIPPED).unwrap();
        let lines = instructions(SHIPPED).len();
        // FROM, USER, ENTRYPOINT and CMD are not steps.
        assert_eq!(recipe.steps.len() + 4, lines, "{recipe:#?}");
        assert_eq!(recipe.entrypoint, ["/careen-installer"]);
        assert_eq!(recipe.user.as_deref(), Some("0:0"));
        let installs = |step: &Step| *step == Step::Install(vec!["systemd".to_owned()]);
        assert!(recipe.steps.iter().any(installs), "{recipe:#?}");
    }

    #[test]
    fn lines_that_go_on_are_one_and_comments_are_none() {
        let text = "# first\nFROM a\n\nRUN one && \\\n  # between\n  two\nCMD [\"x\", \"y z\"]\n";
        let recipe = Containerfile::parse(text).unwrap();
        assert_eq!(recipe.base, "a");
        assert_eq!(recipe.steps, [Step::Run("one && two".to_owned())]);
        assert_eq!(recipe.arguments, ["x", "y z"]);
    }

    #[test]
    fn what_the_rig_does_not_follow_is_refused_with_its_line() {
        for line in [
            "ADD a /a",
            "ENV A=b",
            "HEALTHCHECK NONE",
            "FROM another",
            "COPY --chown=1 a /a",
            "COPY a b /c/",
            "RUN --mount=type=cache,target=/x true",
            "RUN apt-get install --yes systemd && curl example.org",
            "ENTRYPOINT /careen-installer",
            "USER",
        ] {
            let error = refused(line);
            assert!(error.contains(line), "{error}");
        }
        assert!(refused("ENV A=b").contains("does not follow ENV"));
    }

    #[test]
    fn a_recipe_that_begins_with_nothing_is_refused() {
        assert!(Containerfile::parse("").is_err());
        assert!(Containerfile::parse("COPY a /a\nFROM b\n").is_err());
    }
}

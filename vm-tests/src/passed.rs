//! What has passed with the very same content: a run of all scenarios takes two hours, and one that was cut short goes on where it was.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::images::{self, Key};
use crate::joined::qemu_version;
use crate::programs;
use crate::runner::Outcome;
use crate::scenario::Scenario;

/// What a scenario depends on, besides our programs as built: their sources, for careen-provider is built apart from them, the image
/// side, the rig, and what all are built with.
const CONTENT: [&str; 10] = [
    "Cargo.lock",
    "Cargo.toml",
    "dracut",
    "packaging",
    "src",
    "systemd",
    "vm-tests/cluster-api",
    "vm-tests/images",
    "vm-tests/kube",
    "vm-tests/src",
];

/// The scenarios that have passed with what is here now.
pub struct Passed(PathBuf);

impl Passed {
    /// Those of this source tree and of the programs in this folder.
    ///
    /// # Errors
    /// When some of it cannot be read.
    pub fn with(our_programs: &Path) -> Result<Self> {
        let tree = programs::home().join("..");
        let key = Key::default()
            .text(qemu_version()?)
            .files(our_programs)?
            .built(&images::root()?);
        let key = CONTENT
            .iter()
            .try_fold(key, |key, name| key.files(&tree.join(name)))?;
        Ok(Self(programs::cache()?.join("passed").join(key.digits())))
    }

    /// How this one passed, if it did.
    #[must_use]
    pub fn outcome(&self, scenario: &Scenario) -> Option<Outcome> {
        let text = fs::read(self.0.join(scenario.name)).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Notes one that has just come to its end.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn note(&self, outcome: &Outcome) -> Result<()> {
        if !outcome.passed {
            return Ok(());
        }
        fs::create_dir_all(&self.0).with_context(|| format!("cannot make {}", self.0.display()))?;
        let part = self.0.join(format!("{}.new", outcome.name));
        fs::write(&part, serde_json::to_string(outcome)?)?;
        fs::rename(&part, self.0.join(&outcome.name))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenarios::ALL;

    fn outcome(passed: bool) -> Outcome {
        Outcome {
            name: ALL[0].name.to_owned(),
            passed,
            seconds: 1.0,
            failure: None,
        }
    }

    #[test]
    fn only_what_has_passed_is_remembered() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let passed = Passed(folder.path().join("key"));
        assert!(passed.outcome(&ALL[0]).is_none());
        passed.note(&outcome(false))?;
        assert!(passed.outcome(&ALL[0]).is_none());
        passed.note(&outcome(true))?;
        assert!(passed.outcome(&ALL[0]).is_some_and(|then| then.passed));
        assert!(passed.outcome(&ALL[1]).is_none());
        Ok(())
    }

    #[test]
    fn another_program_has_passed_nothing() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let program = folder.path().join("careen-agent");
        fs::write(&program, "one")?;
        let key = || Key::default().files(folder.path()).map(|key| key.digits());
        let before = key()?;
        fs::write(&program, "two")?;
        assert_ne!(before, key()?);
        Ok(())
    }
}

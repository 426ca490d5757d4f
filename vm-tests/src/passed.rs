//! What has passed with the very same content: a run of all scenarios takes two hours, and one that was cut short goes on where it was.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::images::{self, Key};
use crate::joined::qemu_version;
use crate::programs;
use crate::runner::Outcome;
use crate::scenario::Scenario;
use crate::scenarios::is_on_cluster_api;

/// What a scenario depends on, besides our programs as built: the sources that the rig shares with them, the image side, the rig, and
/// what all are built with.
const CONTENT: [&str; 9] = [
    "Cargo.lock",
    "Cargo.toml",
    "dracut",
    "src/host",
    "src/upgrade",
    "systemd",
    "vm-tests/images",
    "vm-tests/kube",
    "vm-tests/src",
];
/// What those on Cluster API depend on besides: careen-provider, which is built apart from the programs of a node, its release, and
/// the managers.
const CLUSTER_API: [&str; 3] = ["packaging", "src/provider", "vm-tests/cluster-api"];

/// The scenarios that have passed with what is here now.
pub struct Passed {
    /// Of these on a node alone.
    node: PathBuf,
    /// Of these on Cluster API.
    cluster_api: PathBuf,
}

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
        let add = |key: Key, names: &[&str]| {
            let mut names = names.iter();
            names.try_fold(key, |key, name| key.files(&tree.join(name)))
        };
        let node = add(key, &CONTENT)?;
        let folder = programs::cache()?.join("passed");
        Ok(Self {
            node: folder.join(node.digits()),
            cluster_api: folder.join(add(node, &CLUSTER_API)?.digits()),
        })
    }

    fn folder(&self, name: &str) -> &Path {
        if is_on_cluster_api(name) {
            &self.cluster_api
        } else {
            &self.node
        }
    }

    /// How this one passed, if it did.
    #[must_use]
    pub fn outcome(&self, scenario: &Scenario) -> Option<Outcome> {
        let text = fs::read(self.folder(scenario.name).join(scenario.name)).ok()?;
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
        let folder = self.folder(&outcome.name);
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let part = folder.join(format!("{}.new", outcome.name));
        fs::write(&part, serde_json::to_string(outcome)?)?;
        fs::rename(&part, folder.join(&outcome.name))?;
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
        let passed = Passed {
            node: folder.path().join("node"),
            cluster_api: folder.path().join("cluster-api"),
        };
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

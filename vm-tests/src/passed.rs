//! Remembers which scenarios passed with the same content. A run of all scenarios takes hours, and
//! an interrupted one can continue.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use rig::emulator;
use scenarios::Scenario;
use scenarios::{ALL, is_on_cluster_api};
use testkit::cache::Key;
use testkit::{debian, programs};

use crate::outcome::Outcome;

/// The content on which each scenario depends, besides our built programs and its own file: the
/// sources (not the tests) that the rig shares with the programs, the images, the rig, and the
/// build configuration.
const CONTENT: [&str; 15] = [
    "Cargo.lock",
    "Cargo.toml",
    "dracut",
    "src/host/Cargo.toml",
    "src/host/src",
    "src/image/Cargo.toml",
    "src/image/src",
    "src/upgrade/Cargo.toml",
    "src/upgrade/src",
    "systemd",
    "vm-tests/images",
    "vm-tests/kube",
    "vm-tests/registry",
    "vm-tests/scenarios/src/prelude.rs",
    "vm-tests/scenarios/src/scenario.rs",
];
/// The rig, except for code that no scenario runs. Each scenario depends only on its own file in
/// it.
const RIG: [&str; 3] = ["tests/testkit/src", "vm-tests/rig/src", "vm-tests/src"];
const NOT_THE_RIG: [&str; 21] = [
    "tests/testkit/src/cluster_api",
    "tests/testkit/src/registry.rs",
    "tests/testkit/src/secure_registry.rs",
    "vm-tests/rig/src/adopted",
    "vm-tests/rig/src/adopted.rs",
    "vm-tests/rig/src/counter.rs",
    "vm-tests/rig/src/daemonset.rs",
    "vm-tests/rig/src/far",
    "vm-tests/rig/src/fate.rs",
    "vm-tests/rig/src/kubectl_careen.rs",
    "vm-tests/rig/src/overlay.rs",
    "vm-tests/rig/src/prepared_host.rs",
    "vm-tests/rig/src/terminal.rs",
    "vm-tests/rig/src/writes.rs",
    "vm-tests/src/bench",
    "vm-tests/src/bench.rs",
    "vm-tests/src/bin",
    "vm-tests/src/choice.rs",
    "vm-tests/src/demo",
    "vm-tests/src/demo.rs",
    "vm-tests/src/passed.rs",
];
/// Parts on which only their users depend. The DaemonSet also depends on its pod's program, which
/// is built apart from a node's programs, and on its packaging.
const PARTS: [(&str, &[&str]); 10] = [
    ("aged/build.sh", &["vm-tests/aged"]),
    (
        ".become_control_plane()",
        &["src/control", "vm-tests/far-pod", "vm-tests/rig/src/far"],
    ),
    ("rig::counter::", &["vm-tests/rig/src/counter.rs"]),
    (
        "rig::daemonset::",
        &[
            "packaging/daemonset",
            "src/installer",
            "src/systemd",
            "vm-tests/rig/src/daemonset.rs",
            "tests/testkit/src/registry.rs",
            "vm-tests/rig/src/terminal.rs",
        ],
    ),
    (
        "rig::kubectl_careen::",
        &[
            "src/client",
            "src/kubectl",
            "src/requests",
            "vm-tests/rig/src/kubectl_careen.rs",
        ],
    ),
    (
        "rig::prepared_host::",
        &[
            "src/careen-host",
            "src/infrastructure",
            "src/life",
            "src/prepared",
            "vm-tests/rig/src/prepared_host.rs",
        ],
    ),
    ("testkit::registry::", &["tests/testkit/src/registry.rs"]),
    (
        "testkit::secure_registry::",
        &["tests/testkit/src/secure_registry.rs"],
    ),
    (
        "rig::fate::",
        &[
            "vm-tests/rig/src/fate.rs",
            "vm-tests/rig/src/overlay.rs",
            "vm-tests/rig/src/writes.rs",
        ],
    ),
    (
        "packaging/monitoring/",
        &[
            "packaging/monitoring",
            "tests/tests/monitoring/kube-rbac-proxy",
        ],
    ),
];
const SCENARIOS: &str = "vm-tests/scenarios/src";
/// The file whose scenarios are rows.
const BAD_IMAGES: &str = "vm-tests/scenarios/src/bad_images.rs";
/// More content for the scenarios on Cluster API: careen-provider, which is built apart from a
/// node's programs, its release, the managers, and the parts of the rig that run them.
const CLUSTER_API: [&str; 8] = [
    "packaging",
    "src/client",
    "src/provider",
    "src/requests",
    "tests/testkit/src/cluster_api",
    "vm-tests/cluster-api",
    "vm-tests/rig/src/adopted",
    "vm-tests/rig/src/adopted.rs",
];

/// The scenarios that have passed with the current content.
pub struct Passed {
    /// The note for each scenario that passed.
    notes: BTreeMap<&'static str, PathBuf>,
}

impl Passed {
    /// The notes for the current source tree and the programs in this folder.
    ///
    /// # Errors
    ///
    /// Fails when some of it cannot be read.
    pub fn with(our_programs: &Path) -> Result<Self> {
        let tree = programs::home().join("..");
        let key = Key::default()
            .text(emulator::version()?)
            .files(our_programs)?
            .built(&debian::root()?);
        let all = |key: Key, names: &[&str]| {
            let mut names = names.iter();
            names.try_fold(key, |key, name| key.files(&tree.join(name)))
        };
        let node = rig(all(key, &CONTENT)?, &tree)?;
        let cluster_api = all(node.clone(), &CLUSTER_API)?;
        let folder = programs::cache()?.join("passed");
        let note = |scenario: &Scenario| {
            let is_on_cluster_api = is_on_cluster_api(scenario.name);
            let key = if is_on_cluster_api {
                &cluster_api
            } else {
                &node
            };
            let own = tree.join(SCENARIOS).join(scenario.name.replace('-', "_"));
            let file = own.with_extension("rs");
            let (key, text) = if file.exists() {
                (key.clone().files(&file)?, fs::read_to_string(&file)?)
            } else {
                let text = row(&fs::read_to_string(tree.join(BAD_IMAGES))?, scenario.name)?;
                (key.clone().text(&text), text)
            };
            let mut parts = parts_of(&text).into_iter();
            // A scenario of several files has the others in a folder.
            let key = if own.is_dir() { key.files(&own)? } else { key };
            let key = parts.try_fold(key, |key, part| key.files(&tree.join(part)))?;
            let note = folder.join(format!("{}-{}", scenario.name, key.digits()));
            Ok((scenario.name, note))
        };
        let notes = ALL.iter().map(note).collect::<Result<_>>()?;
        Ok(Self { notes })
    }

    /// The outcome of this scenario, if it passed.
    #[must_use]
    pub fn outcome(&self, scenario: &Scenario) -> Option<Outcome> {
        let text = fs::read(self.notes.get(scenario.name)?).ok()?;
        serde_json::from_slice(&text).ok()
    }

    /// Notes a scenario that has just ended.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be written.
    pub fn note(&self, outcome: &Outcome) -> Result<()> {
        if !outcome.passed {
            return Ok(());
        }
        let note = self.notes.get(outcome.name.as_str());
        let note = note.with_context(|| format!("there is no scenario {}", outcome.name))?;
        if let Some(folder) = note.parent() {
            fs::create_dir_all(folder)
                .with_context(|| format!("cannot make {}", folder.display()))?;
        }
        let part = note.with_extension("new");
        fs::write(&part, serde_json::to_string(outcome)?)?;
        fs::rename(&part, note)?;
        Ok(())
    }
}

/// The file of rows without the rows of other scenarios.
fn row(text: &str, scenario: &str) -> Result<String> {
    let own = format!("    name: \"{scenario}\"");
    ensure!(
        text.contains(&own),
        "scenario {scenario} must be in {SCENARIOS}, in a file with its name and _ for -, \
         or a row of {BAD_IMAGES}"
    );
    let other = |piece: &&str| piece.contains("\n    name: \"") && !piece.contains(&own);
    let kept = text.split("\n\n").filter(|piece| !other(piece));
    Ok(kept.collect::<Vec<_>>().join("\n\n"))
}

/// The parts that a scenario's source uses besides the common content.
fn parts_of(source: &str) -> Vec<&'static str> {
    let used = PARTS.iter().filter(|(name, _)| source.contains(name));
    used.flat_map(|(_, files)| files.iter().copied()).collect()
}

fn rig(key: Key, tree: &Path) -> Result<Key> {
    let without: Vec<_> = NOT_THE_RIG.iter().map(|name| tree.join(name)).collect();
    let mut files = Vec::new();
    for folder in RIG {
        for entry in fs::read_dir(tree.join(folder))? {
            files.push(entry?.path());
        }
    }
    files.sort();
    let mut files = files.iter().filter(|path| !without.contains(path));
    files.try_fold(key, |key, path| key.files(path))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let note = |scenario: &Scenario| (scenario.name, folder.path().join(scenario.name));
        let passed = Passed {
            notes: ALL.iter().map(note).collect(),
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
    fn a_scenario_with_a_registry_depends_on_it_and_no_other_does() {
        let registry = "tests/testkit/src/registry.rs";
        assert_eq!(parts_of("use testkit::registry::Registry;"), [registry]);
        assert!(parts_of("use rig::daemonset::agent;").contains(&registry));
        assert!(parts_of("use super::prelude::*;").is_empty());
    }

    /// The parts of a scenario, by its own file.
    fn parts_of_scenario(name: &str) -> Result<Vec<&'static str>> {
        let own = programs::home().join("scenarios/src");
        let own = own.join(format!("{}.rs", name.replace('-', "_")));
        // A row uses no parts.
        Ok(parts_of(&fs::read_to_string(own).unwrap_or_default()))
    }

    #[test]
    fn row_depends_on_the_shared_code_and_on_no_other_row() -> Result<()> {
        let text = fs::read_to_string(programs::home().join("..").join(BAD_IMAGES))?;
        let own = row(&text, "watchdog-ends-a-hang")?;
        assert!(own.contains("fn falls_back") && own.contains("image: \"deaf\""));
        assert!(!own.contains("image: \"panic\""));
        assert!(row(&text, "no-such-scenario").is_err());
        Ok(())
    }

    #[test]
    fn only_daemonset_scenarios_depend_on_installer_and_manifests() -> Result<()> {
        for scenario in ALL {
            let parts = parts_of_scenario(scenario.name)?;
            let with_a_pod = scenario.name.starts_with("a-daemonset-");
            for part in ["src/installer", "packaging/daemonset"] {
                assert_eq!(parts.contains(&part), with_a_pod, "{}", scenario.name);
            }
        }
        Ok(())
    }

    #[test]
    fn every_part_that_a_scenario_may_use_is_there() {
        let tree = programs::home().join("..");
        let parts = PARTS.iter().flat_map(|(_, files)| *files);
        for part in parts.chain(&RIG).chain(&NOT_THE_RIG) {
            assert!(tree.join(part).exists(), "{part}");
        }
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

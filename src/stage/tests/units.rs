//! The units keep the promise that nothing is strict except on a trial.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

const TRIAL: &str = "ConditionKernelCommandLine=careen.trial=1";

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

/// Every unit file with its text.
fn units() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["systemd/system", "dracut/55careen"] {
        for file in fs::read_dir(source().join(folder)).unwrap() {
            let path = file.unwrap().path();
            let unit = path
                .extension()
                .is_some_and(|end| end == "service" || end == "timer");
            if unit {
                found.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(found.len() > 10);
    found
}

#[test]
fn what_can_reboot_does_so_on_a_trial_alone() {
    for (path, text) in units() {
        let verbs = ["guard", "verify", "check", "deadman", "fallback", "gate"];
        let strict = verbs
            .iter()
            .any(|verb| text.contains(&format!("careen-stage {verb}")));
        let timed = path.ends_with("careen-initrd-deadman.service");
        if (strict || text.contains("FailureAction=")) && !timed {
            assert!(text.contains(TRIAL), "{}", path.display());
        }
    }
}

#[test]
fn the_kubelets_state_is_put_back_in_every_boot_but_a_trial() {
    let text = fs::read_to_string(source().join("systemd/system/careen-restore.service")).unwrap();
    assert!(text.contains("ConditionKernelCommandLine=!careen.trial=1"));
    assert!(text.contains("Before=kubelet.service"));
}

#[test]
fn every_trial_carries_the_argument_that_the_units_look_for() {
    let arguments = host::grub_config::TRIAL_ARGUMENTS;
    assert!(
        arguments
            .split(' ')
            .any(|word| word == upgrade::names::TRIAL_ARGUMENT)
    );
    let text = fs::read_to_string(source().join("docs/architecture.md")).unwrap();
    assert!(
        text.contains(&format!("`{arguments}`")),
        "docs/architecture.md names other arguments"
    );
}

#[test]
fn the_shell_in_the_dracut_module_stays_small() {
    for name in ["module-setup.sh", "careen-die.sh"] {
        let text = fs::read_to_string(source().join("dracut/55careen").join(name)).unwrap();
        assert!(text.lines().count() <= 40, "{name}");
    }
}

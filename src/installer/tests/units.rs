//! The units for an image without them are the ones of the tree, told where their programs lie.
#![allow(clippy::unwrap_used, missing_docs)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use installer::units::{Entry, UNITS, tree};
use upgrade::names;

fn systemd() -> PathBuf {
    let here = std::env::var("CARGO_MANIFEST_DIR").unwrap();
    Path::new(&here).join("../../systemd/system")
}

fn files() -> impl Iterator<Item = (PathBuf, String)> {
    tree().into_iter().filter_map(|(path, entry)| match entry {
        Entry::File(text) => Some((path, text)),
        Entry::Link(_) => None,
    })
}

#[test]
fn every_unit_of_the_running_system_is_among_them() {
    let known: BTreeSet<_> = UNITS.iter().map(|(name, _)| (*name).to_owned()).collect();
    for entry in fs::read_dir(systemd()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let of_the_initramfs = name.starts_with("careen-initrd-");
        let drop_in = format!("{name}/careen.conf");
        assert!(
            of_the_initramfs || known.contains(&name) || known.contains(&drop_in),
            "{name}"
        );
    }
}

#[test]
fn none_looks_for_a_program_in_the_image() {
    for (path, text) in files() {
        let path = path.display();
        assert!(!text.contains("=/usr/libexec/careen"), "{path}: {text}");
    }
}

#[test]
fn what_they_run_lies_in_the_bundle_that_has_shown_that_it_runs() {
    let proven = format!("{}/proven/", names::AGENTS_DIR);
    let commands: Vec<_> = files()
        .flat_map(|(_, text)| {
            let lines = text
                .lines()
                .filter_map(|line| line.strip_prefix("ExecStart="));
            lines.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    assert!(commands.len() >= 7, "{commands:?}");
    for command in commands {
        let program = command
            .strip_prefix(&proven)
            .and_then(|rest| rest.split(' ').next());
        assert!(
            host::agents::PROGRAMS.contains(&program.unwrap()),
            "{command}"
        );
    }
}

/// An uninstall takes the programs, and leaves these in the /etc of a system that is kept.
#[test]
fn units_outside_trials_require_their_program_to_exist() {
    for (path, text) in files() {
        let path = path.display();
        let is_for_trials = text.contains("\nConditionKernelCommandLine=careen.trial=1\n");
        let runs = text
            .lines()
            .filter_map(|line| line.strip_prefix("ExecStart="));
        for command in runs {
            let program = command.split(' ').next().unwrap();
            let condition = format!("\nConditionFileIsExecutable={program}\n");
            assert_ne!(is_for_trials, text.contains(&condition), "{path}: {text}");
        }
        for line in text.lines().filter(|line| line.starts_with("Environment")) {
            assert!(
                !line.contains(names::AGENTS_DIR) || line.starts_with("EnvironmentFile=-"),
                "{path}: {line}"
            );
        }
    }
    let set = format!(
        "OSTREE_GRUB2_EXEC={}/proven/careen-grub\n",
        names::AGENTS_DIR
    );
    assert_eq!(installer::units::environment(), set);
}

#[test]
fn agent_unit_runs_the_launcher_and_requires_its_mounts() {
    let all: std::collections::BTreeMap<_, _> = files().collect();
    let agent = &all[Path::new(names::AGENT_UNIT)];
    assert!(agent.contains("careen-agent launch"), "{agent}");
    assert!(
        agent.contains(&format!("RequiresMountsFor=/sysroot {}", names::AGENTS_DIR)),
        "{agent}"
    );
}

#[test]
fn each_is_pulled_in_by_what_its_install_section_names() {
    let link = |path: &str| tree().get(Path::new(path)).cloned();
    let to = |name: &str| Some(Entry::Link(Path::new("..").join(name)));
    assert_eq!(
        link("multi-user.target.wants/careen-agent.service"),
        to("careen-agent.service")
    );
    assert_eq!(
        link("boot-complete.target.requires/careen-gate.service"),
        to("careen-gate.service")
    );
    assert_eq!(
        link("kubelet.service.wants/careen-kubeadm.service"),
        to("careen-kubeadm.service")
    );
}

//! The .deb.

use std::fs;
use std::process::Command;

use crate::root::{Root, run};
use crate::shelf::Shelf;

/// Every unit of ours that something at boot is to pull in.
const UNITS: [&str; 8] = [
    "careen-agent.service",
    "careen-check.service",
    "careen-deadman.timer",
    "careen-fallback.service",
    "careen-gate.service",
    "careen-kubeadm.service",
    "careen-repair.service",
    "careen-restore.service",
];

fn install(root: &Root) {
    fs::copy(Shelf::ours().deb(), root.path().join("tmp/careen.deb")).unwrap();
    root.run(&["dpkg", "-i", "/tmp/careen.deb"]);
    fs::remove_file(root.path().join("tmp/careen.deb")).unwrap();
}

#[test]
fn installed_programs_run_and_units_are_enabled_by_preset() {
    let root = Root::new();
    install(&root);
    assert!(
        root.run(&["careen-agent", "--version"])
            .starts_with("careen-agent ")
    );
    assert!(
        root.run(&["careen-control", "--version"])
            .starts_with("careen-control ")
    );
    // It finds the libostree of this Debian.
    let deploy = root.run(&["/usr/libexec/careen/careen-deploy", "--version"]);
    assert!(deploy.starts_with("careen-deploy "));
    for unit in UNITS {
        assert!(root.enabled(unit), "{unit}");
    }
}

#[test]
fn what_pushes_images_runs_asks_for_skopeo_and_leaves_nothing() {
    let root = Root::new();
    let before = root.all();
    let package = Shelf::ours().image_deb();
    let needs = run(Command::new("dpkg-deb")
        .arg("-f")
        .arg(&package)
        .arg("Depends"));
    for name in ["skopeo", "libostree-1-1"] {
        assert!(needs.contains(name), "{name} is not in {needs}");
    }
    fs::copy(package, root.path().join("tmp/image.deb")).unwrap();
    // The rig's Debian has no skopeo, which is needed to push alone.
    root.run(&["dpkg", "--force-depends", "-i", "/tmp/image.deb"]);
    fs::remove_file(root.path().join("tmp/image.deb")).unwrap();
    let version = root.run(&["careen-image", "--version"]);
    assert!(version.starts_with("careen-image "), "{version}");
    root.run(&["dpkg", "--purge", "careen-image"]);
    let left = root.all();
    let difference: Vec<_> = before.symmetric_difference(&left).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}

#[test]
fn plugin_runs_completes_has_a_page_and_purges_cleanly() {
    let root = Root::new();
    let before = root.all();
    fs::copy(
        Shelf::ours().plugin_deb(),
        root.path().join("tmp/plugin.deb"),
    )
    .unwrap();
    root.run(&["dpkg", "-i", "/tmp/plugin.deb"]);
    fs::remove_file(root.path().join("tmp/plugin.deb")).unwrap();
    let version = root.run(&["kubectl-careen", "--version"]);
    assert!(version.starts_with("kubectl-careen "), "{version}");
    // As kubectl calls it for `kubectl careen ro<TAB>`.
    let offered = root.run(&["kubectl_complete-careen", "ro"]);
    assert!(offered.starts_with("rollback\t"), "{offered}");
    for file in [
        "man/man1/kubectl-careen.1.gz",
        "doc/kubectl-careen/clusterroles.yaml",
    ] {
        assert!(root.path().join("usr/share").join(file).exists(), "{file}");
    }
    root.run(&["dpkg", "--purge", "kubectl-careen"]);
    let left = root.all();
    let difference: Vec<_> = before.symmetric_difference(&left).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}

#[test]
fn site_preset_that_disables_units_leaves_all_units_disabled() {
    let root = Root::new();
    let presets = root.path().join("etc/systemd/system-preset");
    fs::create_dir_all(&presets).unwrap();
    fs::write(presets.join("10-site.preset"), "disable careen-*\n").unwrap();
    install(&root);
    for unit in UNITS {
        assert!(!root.enabled(unit), "{unit}");
    }
}

#[test]
fn purged_it_leaves_nothing() {
    let root = Root::new();
    let before = root.all();
    install(&root);
    assert_ne!(before, root.all());
    root.run(&["dpkg", "--purge", "careen"]);
    let left = root.all();
    let difference: Vec<_> = before.symmetric_difference(&left).collect();
    assert!(difference.is_empty(), "{difference:#?}");
}

#[test]
fn what_the_operator_wrote_outlasts_its_removal() {
    let root = Root::new();
    install(&root);
    let policy = root.path().join("etc/careen/policy.toml");
    fs::write(&policy, "trials = 3\n").unwrap();
    root.run(&["dpkg", "--remove", "careen"]);
    assert_eq!(fs::read_to_string(policy).unwrap(), "trials = 3\n");
    assert!(!root.enabled("careen-agent.service"));
}

/// A `requires` that leads to a unit that is not there would fail what has it at boot.
#[test]
fn removal_unlinks_units_and_reinstall_enables_them_again() {
    let root = Root::new();
    install(&root);
    root.run(&["dpkg", "--remove", "careen"]);
    let left = root.all();
    let links = left
        .iter()
        .filter(|line| line.contains("./etc/systemd/") && line.contains("careen-"));
    assert_eq!(links.collect::<Vec<_>>(), Vec::<&String>::new());
    install(&root);
    for unit in UNITS {
        assert!(root.enabled(unit), "{unit}");
    }
}

#[test]
fn disabled_unit_stays_disabled_over_upgrade_and_reinstall() {
    let root = Root::new();
    install(&root);
    root.run(&["systemctl", "disable", UNITS[1]]);
    let is_as_left = |when: &str| {
        for unit in UNITS {
            assert_eq!(root.enabled(unit), unit != UNITS[1], "{when}: {unit}");
        }
    };
    install(&root);
    is_as_left("a version over the other");
    root.run(&["dpkg", "--remove", "careen"]);
    install(&root);
    is_as_left("removed and installed again");
}

#[test]
fn lintian_finds_no_error() {
    for deb in Shelf::ours().debs() {
        run(Command::new("lintian")
            .args(["--fail-on", "error"])
            .arg(deb));
    }
}

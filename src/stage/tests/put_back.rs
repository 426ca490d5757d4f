//! The kubelet's state of before the trial, put back for the old system.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::path::Path;

use host::snapshot;
use node::disk::{boot_id, upgrade_id};
use node::{armed, config_in, running};
use upgrade::Phase;

#[test]
fn restore_runs_once_until_the_target_has_run_again() {
    let node = armed();
    let places = running(&node);
    let config = config_in(&places.root, "saved");
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    // What a person must look at keeps its snapshot, through any number of boots.
    let reason = upgrade::Reason::UnknownSystem { booted: "x".into() };
    node.store(Phase::Halted { reason });
    let boots = |what: &str| {
        fs::write(&config, what).unwrap();
        let ended = node.run("restore", &node.old, false, &[]);
        assert_eq!(ended.status.code(), Some(0));
        fs::read_to_string(&config).unwrap()
    };
    assert_eq!(boots("of the trial"), "saved");
    assert_eq!(boots("of the old kubelet"), "of the old kubelet");
    let ended = node.run("restore", &node.new, false, &[]);
    assert_eq!(ended.status.code(), Some(0), "somebody boots it by hand");
    assert_eq!(boots("of the target"), "saved");
    assert_eq!(boots("of the old kubelet"), "of the old kubelet");
    let mut again = node.upgrade(Phase::Trial {
        boot: boot_id("b1"),
    });
    again.attempt.tries = 2;
    node.store_upgrade(again);
    assert_eq!(boots("of a second trial"), "saved");
}

/// Saved at noon, and nothing was ever armed: what a person has changed since then stays.
#[test]
fn restore_skips_a_snapshot_whose_arming_never_came() {
    for tries in 0..2 {
        let node = armed();
        let places = running(&node);
        let config = config_in(&places.root, "saved");
        let id = upgrade_id("one");
        let before = snapshot::Before {
            id: &id,
            trials: tries,
        };
        assert!(snapshot::save_while(&places, &before, &|| true).unwrap());
        let reason = upgrade::Reason::ForeignDefault {
            default: "x".into(),
        };
        let mut halted = node.upgrade(Phase::Halted { reason });
        halted.attempt.tries = tries;
        node.store_upgrade(halted);
        fs::write(&config, "changed by a person").unwrap();
        let ended = node.run("restore", &node.old, false, &[]);
        assert_eq!(ended.status.code(), Some(0));
        assert_eq!(fs::read_to_string(&config).unwrap(), "changed by a person");
    }
}

#[test]
fn failed_restore_prints_advice_and_retries_at_every_boot() {
    let node = armed();
    let places = running(&node);
    let folder = places.root.join("var/lib/kubelet");
    let config = folder.join("config.yaml");
    fs::create_dir_all(&folder).unwrap();
    fs::write(&config, "saved").unwrap();
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    fs::write(&config, "of the trial").unwrap();
    let away = folder.with_file_name("away");
    fs::rename(&folder, &away).unwrap();
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    let boot = || node.run("restore", &node.old, false, &[]);
    for phase in [node.phase(), failed()] {
        node.store(phase);
        let ended = boot();
        assert_eq!(ended.status.code(), Some(1));
        let told = String::from_utf8(ended.stderr).unwrap();
        let kept = places.snapshot(&upgrade_id("one")).display().to_string();
        for word in [
            "config.yaml",
            &kept,
            "systemctl start careen-restore.service",
        ] {
            assert!(told.contains(word), "no {word} in: {told}");
        }
        assert!(snapshot::owed(&places, &upgrade_id("one")).is_some());
    }
    fs::rename(&away, &folder).unwrap();
    assert_eq!(boot().status.code(), Some(0), "its upgrade is long over");
    assert_eq!(fs::read_to_string(&config).unwrap(), "saved");
    fs::write(&config, "of the old kubelet").unwrap();
    assert_eq!(boot().status.code(), Some(0));
    assert_eq!(fs::read_to_string(&config).unwrap(), "of the old kubelet");
    assert!(!snapshot::exists(&places, &upgrade_id("one")));
}

fn failed() -> Phase {
    Phase::Failed {
        reason: upgrade::Reason::NoVerdict {
            commit: "b".repeat(64),
            tries: 1,
            seen: String::new(),
            cause: upgrade::Cause::Image,
        },
    }
}

#[test]
fn the_target_forgets_that_the_old_system_is_owed_its_state() {
    let node = armed();
    let places = running(&node);
    let id = upgrade_id("one");
    snapshot::save(&places, &id).unwrap();
    let owed = snapshot::Owed {
        why: "the disk was full".to_owned(),
        to: Some(node.old.clone()),
    };
    snapshot::owe(&places, &id, &owed).unwrap();
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.new, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(snapshot::owed(&places, &id), None);
}

#[test]
fn restore_runs_only_in_the_old_system_and_only_after_a_trial() {
    let node = armed();
    let places = running(&node);
    let config = config_in(&places.root, "old");
    snapshot::save(&places, &upgrade_id("one")).unwrap();
    fs::write(&config, "new").unwrap();
    let new_config = config_in(&node.new_root(), "new");

    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.new, true, &[]).status.code(),
        Some(0)
    );
    assert_eq!(fs::read_to_string(&new_config).unwrap(), "new");
    node.store(Phase::Drained);
    assert_eq!(
        node.run("restore", &node.old, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(
        fs::read_to_string(&config).unwrap(),
        "new",
        "nothing was tried since the snapshot"
    );
    node.store(Phase::Trial {
        boot: boot_id("b0"),
    });
    assert_eq!(
        node.run("restore", &node.old, false, &[]).status.code(),
        Some(0)
    );
    assert_eq!(fs::read_to_string(&config).unwrap(), "old");
}

/// systemd starts again what a service wants and is not active, whenever it starts that service
/// (its issue 15091), and the kubelet's state would be put back under running pods, at a moment
/// that nobody has chosen.
#[test]
fn kubelet_start_does_not_retry_a_failed_restore() {
    let units = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd/system");
    let unit = fs::read_to_string(units.join("careen-restore.service")).unwrap();
    let by = unit.lines().filter(|line| line.starts_with("WantedBy="));
    let by: Vec<&str> = by.collect();
    assert_eq!(by, ["WantedBy=multi-user.target"], "once a boot");
    assert!(!unit.contains("RequiredBy=") && !unit.contains("UpheldBy="));
    assert!(unit.contains("Before=kubelet.service"));
}

//! What the old system is owed comes back to it, whatever was asked of the node meanwhile and
//! whatever the record says.
#![allow(clippy::unwrap_used)]

mod node;

use std::fs;
use std::os::unix::fs::symlink;
use std::path::PathBuf;

use host::{Places, snapshot};
use node::disk::{boot_id, deployment, upgrade_id};
use node::{Node, armed};
use upgrade::{Deployment, Phase, Upgrade};

/// A node whose disk took nothing when the stage restored the kubelet's state after the trial of
/// upgrade `one`.
struct Owing {
    node: Node,
    places: Places,
    config: PathBuf,
}

impl Owing {
    fn new() -> Self {
        let node = armed();
        let root = node.disk.root(&node.old);
        symlink(&node.disk.places.sysroot, root.join("sysroot")).unwrap();
        let places = Places {
            root,
            ..node.disk.places.clone()
        };
        let config = places.root.join("var/lib/kubelet/config.yaml");
        fs::create_dir_all(config.parent().unwrap()).unwrap();
        fs::write(&config, "saved").unwrap();
        snapshot::save(&places, &upgrade_id("one")).unwrap();
        node.store(Phase::Trial {
            boot: boot_id("b0"),
        });
        let owing = Self {
            node,
            places,
            config,
        };
        owing.break_disk();
        assert_eq!(owing.boot(), Some(1));
        assert!(owing.owes());
        owing
    }

    /// The folder of the file is away: nothing can be restored there.
    fn break_disk(&self) {
        let folder = self.config.parent().unwrap();
        fs::rename(folder, folder.with_file_name("away")).unwrap();
    }

    fn repair_disk(&self) {
        let folder = self.config.parent().unwrap();
        fs::rename(folder.with_file_name("away"), folder).unwrap();
        fs::write(&self.config, "of the trial").unwrap();
    }

    fn boot(&self) -> Option<i32> {
        self.boot_of(&self.node.old)
    }

    fn boot_of(&self, booted: &Deployment) -> Option<i32> {
        self.node.run("restore", booted, false, &[]).status.code()
    }

    fn owes(&self) -> bool {
        snapshot::owed(&self.places, &upgrade_id("one")).is_some()
    }

    fn config(&self) -> String {
        fs::read_to_string(&self.config).unwrap()
    }

    /// The record tells of another upgrade by now, as when the image that runs was asked for.
    fn ask_again(&self) {
        let id = upgrade_id("two");
        let one = self.node.upgrade(Phase::Upgraded);
        self.node.store_upgrade(Upgrade { id, ..one });
    }
}

#[test]
fn owed_state_is_restored_when_the_record_has_another_upgrade() {
    let owing = Owing::new();
    owing.ask_again();
    assert_eq!(owing.boot(), Some(1), "it is tried, and fails once more");
    assert!(owing.owes());
    owing.repair_disk();
    assert_eq!(owing.boot(), Some(0));
    assert_eq!((owing.config().as_str(), owing.owes()), ("saved", false));
    fs::write(&owing.config, "of the old kubelet").unwrap();
    assert_eq!(owing.boot(), Some(0));
    assert_eq!(owing.config(), "of the old kubelet", "it came back once");
}

#[test]
fn what_is_owed_comes_back_also_when_the_record_is_lost() {
    let owing = Owing::new();
    owing.repair_disk();
    for record in ["record.a", "record.b"] {
        let _ = fs::remove_file(owing.places.state().join(record));
    }
    assert_eq!(owing.boot(), Some(0));
    assert_eq!((owing.config().as_str(), owing.owes()), ("saved", false));
}

#[test]
fn what_is_owed_to_one_system_is_kept_from_another_that_runs() {
    let owing = Owing::new();
    owing.repair_disk();
    owing.ask_again();
    assert_eq!(owing.boot_of(&owing.node.new), Some(0));
    assert!(owing.owes());
    assert_eq!(owing.config(), "of the trial");
    assert_eq!(owing.boot(), Some(0));
    assert_eq!(owing.config(), "saved");
}

#[test]
fn manual_target_boot_keeps_owed_state_of_a_failed_upgrade() {
    let owing = Owing::new();
    owing.node.store(Phase::Failed {
        reason: upgrade::Reason::Withdrawn { replaced_by: None },
    });
    assert_eq!(owing.boot_of(&owing.node.new), Some(0));
    assert!(owing.owes());
    owing.repair_disk();
    assert_eq!(owing.boot(), Some(0));
    assert_eq!(owing.config(), "saved");
}

#[test]
fn what_a_version_before_this_one_noted_is_owed_too() {
    let owing = Owing::new();
    let note = owing.places.snapshot(&upgrade_id("one")).join("owed");
    fs::write(note, "the disk was full\n").unwrap();
    let owed = snapshot::owed(&owing.places, &upgrade_id("one")).unwrap();
    assert_eq!((owed.why.as_str(), owed.to), ("the disk was full", None));
    owing.repair_disk();
    assert_eq!(owing.boot(), Some(0));
    assert_eq!(owing.config(), "saved");
}

#[test]
fn what_is_owed_names_the_system_that_it_is_owed_to() {
    let owing = Owing::new();
    let owed = snapshot::owed(&owing.places, &upgrade_id("one")).unwrap();
    assert!(owed.to.unwrap().same(&deployment('a', 0)));
    assert!(owed.why.contains("config.yaml"), "{}", owed.why);
}

#[test]
fn due_state_becomes_owed_when_the_running_system_is_unknown() {
    let owing = Owing::new();
    owing.repair_disk();
    fs::remove_file(owing.places.snapshot(&upgrade_id("one")).join("owed")).unwrap();
    assert_eq!(owing.boot_of(&deployment('c', 0)), Some(1), "no such root");
    assert!(owing.owes());
    owing.node.store(Phase::Failed {
        reason: upgrade::Reason::Withdrawn { replaced_by: None },
    });
    assert_eq!(owing.boot(), Some(0), "its upgrade is over");
    assert_eq!(owing.config(), "saved");
}

/// Where the unit could not run at all the agent notes it, and ends the upgrade.
#[test]
fn state_found_outstanding_by_the_agent_is_restored_later() {
    let owing = Owing::new();
    owing.repair_disk();
    let upgrade = owing.node.upgrade(Phase::Trial {
        boot: boot_id("b0"),
    });
    fs::remove_file(owing.places.snapshot(&upgrade.id).join("owed")).unwrap();
    let old = deployment('a', 0);
    let here = snapshot::Here {
        system: &old,
        boot: &boot_id(node::THIS_BOOT),
    };
    assert!(snapshot::is_outstanding(&owing.places, &upgrade, here));
    snapshot::owe_outstanding(&owing.places, &upgrade).unwrap();
    owing.node.store(Phase::Failed {
        reason: upgrade::Reason::Withdrawn { replaced_by: None },
    });
    assert_eq!(owing.boot(), Some(0));
    assert_eq!((owing.config().as_str(), owing.owes()), ("saved", false));
}

//! Whether the stage's last check let the kubelet and its runtime start in this boot. Their units
//! only want it and wait for it. If systemd dropped it from the boot, because of an ordering cycle
//! or because it is masked, they start unchecked, and nothing else would show that.

mod cycle;

use std::path::Path;

use systemd::{ActiveState, Bus};
use upgrade::names::CHECK_UNIT;
use upgrade::observe::{Cause, Check};

use super::ownership::is_the_nodes;

/// Where a node puts units of its own, or changes others. systemd makes units of /etc/fstab.
const PLACES: [&str; 3] = [
    "/etc/systemd/system",
    "/run/systemd/system",
    "/run/systemd/generator",
];

/// What is known of the unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// Whether it has passed.
    pub check: Check,
    /// Where the cause is if it did not run.
    pub cause: Cause,
    /// The units of the cycle for which systemd dropped a unit, once the journal has told them.
    cycle: Option<Vec<String>>,
}

impl Default for Checked {
    fn default() -> Self {
        Self {
            check: Check::Pending("it was not checked yet".to_owned()),
            cause: Cause::Unclear,
            cycle: None,
        }
    }
}

impl Checked {
    /// Asks systemd, until it has passed: a pass holds for this boot.
    pub async fn round(&mut self) {
        if self.check == Check::Pass {
            return;
        }
        let state = async { Bus::system().await?.state(CHECK_UNIT).await };
        self.check = by(state.await);
        if !matches!(self.check, Check::Fail(_)) {
            return;
        }
        if self.cycle.is_none() {
            self.cycle = cycle::units().await;
        }
        self.cause = cause(Path::new("/"), self.cycle.as_deref());
    }
}

/// Where the cause is where it did not run: a file of this node in the unit's place, or beside it,
/// masks or changes it. Where a unit in the cycle is this node's, it may close it. The same holds
/// where the journal does not tell the cycle.
fn cause(root: &Path, cycle: Option<&[String]>) -> Cause {
    let may_be_the_nodes = |cycle: &[String]| {
        let mut units = cycle.iter();
        units.any(|unit| has_files_of_the_node(root, unit))
    };
    if has_files_of_the_node(root, CHECK_UNIT) {
        Cause::Node
    } else if cycle.is_none_or(may_be_the_nodes) {
        Cause::Unclear
    } else {
        Cause::Image
    }
}

/// A unit's file or a drop-in.
fn has_files_of_the_node(root: &Path, unit: &str) -> bool {
    let names = [unit.to_owned(), format!("{unit}.d")];
    let files = PLACES
        .iter()
        .flat_map(|folder| names.iter().map(move |name| Path::new(folder).join(name)));
    files.into_iter().any(|file| is_the_nodes(root, &file))
}

/// The unit stays `active` once it has passed. If it fails, it reboots the machine.
fn by(state: systemd::Result<Option<ActiveState>>) -> Check {
    let state = match state {
        Err(error) => return Check::Pending(format!("systemd does not answer: {error}")),
        Ok(None) => "not loaded".to_owned(),
        Ok(Some(ActiveState::Active)) => return Check::Pass,
        Ok(Some(ActiveState::Activating)) => return Check::Pending("it is running".to_owned()),
        Ok(Some(other)) => other.as_str().to_owned(),
    };
    Check::Fail(format!(
        "it is {state}, so kubelet and container runtime have started unchecked; look whether it is masked (`systemctl status {CHECK_UNIT}`) or was \
             dropped for a cycle (`journalctl -b | grep 'ordering cycle'`)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(state: &str) -> Check {
        by(Ok(Some(state.to_owned().into())))
    }

    #[test]
    fn trial_fails_when_its_check_unit_is_missing_or_inactive() {
        assert_eq!(state("active"), Check::Pass);
        for gone in [by(Ok(None)), state("inactive"), state("failed")] {
            let Check::Fail(why) = gone else {
                panic!("{gone:?}");
            };
            assert!(
                why.contains("unchecked") && why.contains(CHECK_UNIT),
                "{why}"
            );
        }
    }

    #[test]
    fn unit_that_the_node_masks_or_changes_is_not_the_images_fault() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(cause(root.path(), Some(&[])), Cause::Image);
        let units = root.path().join("etc/systemd/system");
        let drop_ins = units.join(format!("{CHECK_UNIT}.d"));
        std::fs::create_dir_all(&drop_ins).unwrap();
        assert_eq!(cause(root.path(), Some(&[])), Cause::Image, "it is empty");
        std::fs::write(drop_ins.join("10-site.conf"), "[Unit]").unwrap();
        assert_eq!(cause(root.path(), Some(&[])), Cause::Node);
        std::fs::remove_dir_all(&drop_ins).unwrap();
        std::os::unix::fs::symlink("/dev/null", units.join(CHECK_UNIT)).unwrap();
        assert_eq!(cause(root.path(), Some(&[])), Cause::Node);
    }

    #[test]
    fn cycle_with_a_unit_of_the_node_does_not_blame_the_image() {
        let root = tempfile::tempdir().unwrap();
        let units = root.path().join("etc/systemd/system");
        std::fs::create_dir_all(&units).unwrap();
        std::fs::write(units.join("site.service"), "[Unit]").unwrap();
        let cycle = |unit: &str| {
            let units = ["kubelet.service".into(), unit.into()];
            cause(root.path(), Some(&units))
        };
        assert_eq!(cycle("site.service"), Cause::Unclear);
        assert_eq!(cycle("containerd.service"), Cause::Image);
    }

    #[test]
    fn cycle_that_the_journal_does_not_tell_blames_no_image() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(cause(root.path(), None), Cause::Unclear);
        let units = root.path().join("etc/systemd/system");
        std::fs::create_dir_all(&units).unwrap();
        std::os::unix::fs::symlink("/dev/null", units.join(CHECK_UNIT)).unwrap();
        assert_eq!(cause(root.path(), None), Cause::Node, "it is masked");
    }

    #[test]
    fn check_stays_pending_when_systemd_does_not_answer() {
        let away = by(Err(systemd::Error::Failure("no answer".to_owned())));
        assert!(matches!(away, Check::Pending(_)));
        assert!(matches!(state("activating"), Check::Pending(_)));
    }
}

//! Whether the stage's last check let the kubelet and its runtime start in this boot. Their units
//! only want it and wait for it. If systemd dropped it from the boot, because of an ordering cycle
//! or because it is masked, they start unchecked, and nothing else would show that.

use std::path::Path;

use systemd::{ActiveState, Bus};
use upgrade::names::CHECK_UNIT;
use upgrade::observe::{Cause, Check};

use super::ownership::is_the_nodes;

/// Asks systemd.
pub async fn check() -> Check {
    let state = async { Bus::system().await?.state(CHECK_UNIT).await };
    by(state.await)
}

/// Where the cause is where it did not run: a file of this node in the unit's place masks it.
pub fn cause(root: &Path) -> Cause {
    let places = ["/etc/systemd/system", "/run/systemd/system"];
    let in_the_way = |folder| is_the_nodes(root, &Path::new(folder).join(CHECK_UNIT));
    if places.into_iter().any(in_the_way) {
        Cause::Node
    } else {
        Cause::Image
    }
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
    fn unit_that_the_node_masks_is_not_the_images_fault() {
        let root = tempfile::tempdir().unwrap();
        assert_eq!(cause(root.path()), Cause::Image);
        let units = root.path().join("etc/systemd/system");
        std::fs::create_dir_all(&units).unwrap();
        std::os::unix::fs::symlink("/dev/null", units.join(CHECK_UNIT)).unwrap();
        assert_eq!(cause(root.path()), Cause::Node);
    }

    #[test]
    fn check_stays_pending_when_systemd_does_not_answer() {
        let away = by(Err(systemd::Error::Failure("no answer".to_owned())));
        assert!(matches!(away, Check::Pending(_)));
        assert!(matches!(state("activating"), Check::Pending(_)));
    }
}

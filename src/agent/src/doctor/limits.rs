//! Limits of the policy that this machine's own boots and shutdowns contradict.

use upgrade::{Policy, limits};

use super::finding::Finding;
use super::patient::Patient;

/// What a system needs after its boot is finished before it is judged, in seconds: the kubelet's
/// start, and a Node that becomes Ready.
const JUDGED: u64 = 120;

/// Whether a trial that is as slow as this boot, and a shutdown as long as logind allows, are
/// within the limits.
pub(super) fn limits(patient: &Patient, policy: &Policy) -> Finding {
    const NAME: &str = "limits";
    let warn = |found: String, key: &str| {
        let fix = format!("raise {key} in the policy, or leave it out");
        Finding::warn(NAME, found, &fix)
    };
    let (reboot, measured) = (&policy.reboot, patient.measured);
    let initramfs = measured.boot.and_then(|boot| boot.initramfs);
    let set = |seconds: u64| Some(seconds).filter(|seconds| *seconds > 0);
    if let (Some(limit), Some(took)) = (set(reboot.initramfs_seconds), initramfs)
        && took >= limit
    {
        let found = format!("this boot was {took} s in its initramfs, and a trial has {limit} s");
        return warn(found, "reboot.initramfs-seconds");
    }
    if let (Some(limit), Some(delay)) = (set(reboot.shutdown_seconds), measured.delay)
        && delay >= limit
    {
        let found = format!(
            "programs may delay a shutdown for {delay} s (InhibitDelayMaxSec of logind), and a shutdown has {limit} s"
        );
        return warn(found, "reboot.shutdown-seconds");
    }
    let boot = measured.boot.and_then(|boot| boot.all);
    let limit = limits::trial(&policy.health, boot);
    match boot {
        Some(took) if took + JUDGED > limit => warn(
            format!(
                "this boot took {took} s, and a trial has {limit} s from its boot to its verdict"
            ),
            "health.deadline-seconds",
        ),
        Some(took) => Finding::ok(
            NAME,
            format!(
                "this boot took {took} s, and a trial has {limit} s, of which a run of kubeadm may take {} s",
                limits::kubeadm(limit, false)
            ),
        ),
        None => Finding::ok(NAME, "nothing that was measured contradicts them"),
    }
}

#[cfg(test)]
mod tests {
    use systemd::BootTimes;

    use super::super::Verdict::{Ok, Warn};
    use super::super::tests::node::Node;
    use super::*;
    use crate::limits::Measured;

    fn verdict(measured: Measured, change: impl FnOnce(&mut Policy)) -> super::super::Verdict {
        let node = Node::sound();
        let mut patient = node.patient();
        patient.measured = measured;
        let mut policy = Policy::default();
        change(&mut policy);
        limits(&patient, &policy).verdict
    }

    #[test]
    fn limit_that_this_boot_contradicts_is_worth_a_look() {
        let boot = |initramfs, all| Measured {
            boot: Some(BootTimes {
                initramfs: Some(initramfs),
                all: Some(all),
            }),
            delay: Some(900),
        };
        let none = |_: &mut Policy| ();
        assert_eq!(verdict(Measured::default(), none), Ok);
        assert_eq!(verdict(boot(185, 300), none), Ok, "derived from the boot");
        assert_eq!(verdict(boot(5, 500), none), Ok, "derived from the boot");
        let short = |policy: &mut Policy| policy.health.deadline_seconds = 600;
        assert_eq!(verdict(boot(5, 500), short), Warn);
        let short = |policy: &mut Policy| policy.reboot.initramfs_seconds = 90;
        assert_eq!(verdict(boot(185, 300), short), Warn);
        let short = |policy: &mut Policy| policy.reboot.shutdown_seconds = 600;
        assert_eq!(verdict(boot(5, 60), short), Warn);
    }
}

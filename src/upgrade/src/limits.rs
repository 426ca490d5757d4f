//! Limits in seconds that this machine's own past decides, unless the policy sets them.

use crate::policy::{Health, Reboot};

/// How long a trial's initramfs waits for its devices if nothing was measured.
pub const INITRAMFS: u64 = 90;

/// The same at most: a trial whose disk never comes must end.
const LONGEST: u64 = 3600;

/// The initramfs beyond its devices: guard, fsck, and the way to the new root.
const BEYOND: u64 = 90;

/// A shutdown beyond the programs that delay it. By default, units have 90 s each to stop.
const SHUTDOWN: u64 = 600;

/// How long a trial's initramfs waits for its devices. `measured` is how long the running system
/// was in its own: a wait that it survived ends no trial.
#[must_use]
pub fn initramfs(policy: &Reboot, measured: Option<u64>) -> u64 {
    match policy.initramfs_seconds {
        0 => {
            let twice = measured.unwrap_or(0).saturating_mul(2);
            twice.clamp(INITRAMFS, LONGEST)
        }
        seconds => seconds,
    }
}

/// When the deadman of the initramfs ends a trial, in seconds since boot.
#[must_use]
pub const fn initramfs_deadman(devices: u64) -> u64 {
    devices.saturating_add(BEYOND)
}

/// How long a trial has from its boot to its verdict if nothing was measured.
pub const TRIAL: u64 = 600;

/// The same at most.
const LONGEST_TRIAL: u64 = 86_400;

/// What a trial does beyond the boot: kubeadm, and pods that become Ready.
const JUDGED: u64 = 120;

/// How long a trial has from its boot to its verdict. `measured` is how long the system before it
/// took to come up, with the node's own pods: a new system that is as slow as the old one is not
/// late.
#[must_use]
pub fn trial(policy: &Health, measured: Option<u64>) -> u64 {
    match policy.deadline_seconds {
        0 => {
            let twice = measured.unwrap_or(0).saturating_mul(2);
            let whole = twice.saturating_add(JUDGED);
            whole.clamp(TRIAL, LONGEST_TRIAL)
        }
        seconds => seconds,
    }
}

/// How long the run of kubeadm before the kubelet may take. The kubelet waits for it, also where
/// the API server is away.
const KUBEADM: u64 = 90;

/// How long any other run may take at most. The unit's own limit is above it.
pub const LONGEST_KUBEADM: u64 = 3600;

/// How long one run of kubeadm may take in a trial with this deadline. A machine or a server that
/// is too slow for the first run has a third of the trial for each run beside the kubelet. The
/// agent begins those only while it reaches the server.
#[must_use]
pub fn kubeadm(deadline: u64, is_before_the_kubelet: bool) -> u64 {
    if is_before_the_kubelet {
        KUBEADM
    } else {
        (deadline / 3).clamp(KUBEADM, LONGEST_KUBEADM)
    }
}

/// How long a shutdown that has begun may take before it counts as failed. `delay` is for how long
/// logind lets programs delay it: the kubelet for its `shutdownGracePeriod`.
#[must_use]
pub fn shutdown(policy: &Reboot, delay: Option<u64>) -> u64 {
    match policy.shutdown_seconds {
        0 => delay.unwrap_or(0).saturating_add(SHUTDOWN),
        seconds => seconds,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initramfs_of_a_trial_has_twice_the_time_of_the_old_one() {
        let policy = Reboot::default();
        let limit = |measured| initramfs(&policy, measured);
        assert_eq!(
            [None, Some(4), Some(185), Some(9_999)].map(limit),
            [90, 90, 370, 3600]
        );
        assert_eq!(initramfs_deadman(limit(None)), 180);
        let set = Reboot {
            initramfs_seconds: 240,
            ..Reboot::default()
        };
        assert_eq!(initramfs(&set, Some(900)), 240);
    }

    #[test]
    fn trial_has_twice_the_boot_of_the_old_system() {
        let policy = Health::default();
        assert_eq!(
            [None, Some(60), Some(480), Some(90_000)].map(|boot| trial(&policy, boot)),
            [600, 600, 1080, 86_400]
        );
        let set = Health {
            deadline_seconds: 90,
            ..Health::default()
        };
        assert_eq!(trial(&set, Some(480)), 90, "the policy decides");
    }

    #[test]
    fn slow_kubeadm_has_a_third_of_the_trial() {
        assert_eq!(kubeadm(600, true), 90, "the kubelet waits for it");
        let limit = |deadline| kubeadm(deadline, false);
        assert_eq!([30, 600, 1080, 86_400].map(limit), [90, 200, 360, 3600]);
    }

    #[test]
    fn shutdown_may_take_what_logind_allows_and_more() {
        let policy = Reboot::default();
        assert_eq!(
            [None, Some(5), Some(900)].map(|delay| shutdown(&policy, delay)),
            [600, 605, 1500]
        );
        let set = Reboot {
            shutdown_seconds: 120,
            ..Reboot::default()
        };
        assert_eq!(shutdown(&set, Some(900)), 120);
    }
}

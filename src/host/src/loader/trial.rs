//! What a kernel is told on a trial, by each loader.

use std::fs;

use upgrade::{limits, names};

use crate::Places;

/// The kernel arguments of a trial. By default, a kernel that panics and an initramfs that waits
/// hang for ever; with these arguments both end in a reboot, which is the old system. A systemd
/// that crashes as the first process freezes. Versions before 256 do not know `crash_action`, and
/// newer ones take `crash_reboot` for the same (systemd, src/core/main.c).
pub const TRIAL_ARGUMENTS: &str = "careen.trial=1 panic=10 oops=panic softlockup_panic=1 \
rd.shell=0 rd.emergency=reboot systemd.crash_action=reboot systemd.crash_reboot=1 \
systemd.watchdog_sec=60 rd.timeout=90";

/// The longest that a note may ask for, in seconds: a damaged one must not keep a trial for ever.
const LONGEST: u64 = 3600;

/// The kernel arguments of the next trial on this disk. Where the running system was long in its
/// own initramfs, or the policy says so, the trial's initramfs has more time.
#[must_use]
pub fn arguments(places: &Places) -> String {
    let note = fs::read_to_string(places.sysroot.join(names::INITRAMFS_NOTE));
    let seconds = note.ok().and_then(|text| text.trim().parse().ok());
    match seconds {
        Some(seconds) if seconds != limits::INITRAMFS && seconds <= LONGEST => with(seconds),
        Some(_) | None => TRIAL_ARGUMENTS.to_owned(),
    }
}

fn with(seconds: u64) -> String {
    let usual = format!("rd.timeout={}", limits::INITRAMFS);
    let deadman = limits::initramfs_deadman(seconds);
    let asked = format!(
        "rd.timeout={seconds} {}{deadman}",
        names::INITRAMFS_ARGUMENT
    );
    TRIAL_ARGUMENTS.replace(&usual, &asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initramfs_that_waited_long_gives_its_trial_more_time() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::physical(root.path());
        assert_eq!(arguments(&places), TRIAL_ARGUMENTS);
        let note = root.path().join(names::INITRAMFS_NOTE);
        fs::create_dir_all(note.parent().unwrap()).unwrap();
        fs::write(&note, "370").unwrap();
        let found = arguments(&places);
        assert!(
            found.contains(" rd.timeout=370 careen.initramfs-seconds=460"),
            "{found}"
        );
        assert!(!found.contains("rd.timeout=90"), "{found}");
        for damaged in ["", "soon", "99999999999", "-1"] {
            fs::write(&note, damaged).unwrap();
            assert_eq!(arguments(&places), TRIAL_ARGUMENTS, "{damaged}");
        }
    }
}

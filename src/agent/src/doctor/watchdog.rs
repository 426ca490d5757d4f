//! A hardware watchdog: what ends a hang that no software of ours lives to see.

use std::fs;
use std::path::Path;

use super::{Finding, Patient};

/// What Linux tells of a watchdog (Documentation/ABI/testing/sysfs-class-watchdog). Whether the hardware itself counts on across a
/// reset it does not know; whether the kernel stops it before one, the parameter says, if it is set.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Seen {
    identity: String,
    timeout: String,
    at_reboot: AtReboot,
}

/// The module parameter `watchdog.stop_on_reboot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtReboot {
    /// Stopped, by the parameter.
    Stopped,
    /// Left to run, by the parameter.
    Runs,
    /// As its driver likes.
    Driver,
}

/// There is one, and the kernel leaves it running when it reboots.
pub(super) fn watchdog(patient: &Patient) -> Finding {
    judge(look(&patient.kernel).as_ref())
}

fn look(kernel: &Path) -> Option<Seen> {
    let device = kernel.join("sys/class/watchdog/watchdog0");
    let read = |path: &Path| Some(fs::read_to_string(path).ok()?.trim().to_owned());
    let parameter = read(&kernel.join("sys/module/watchdog/parameters/stop_on_reboot"));
    Some(Seen {
        identity: read(&device.join("identity"))?,
        timeout: read(&device.join("timeout")).unwrap_or_default(),
        at_reboot: match parameter.as_deref() {
            Some("1") => AtReboot::Stopped,
            Some("0") => AtReboot::Runs,
            Some(_) | None => AtReboot::Driver,
        },
    })
}

fn judge(seen: Option<&Seen>) -> Finding {
    const NAME: &str = "watchdog";
    let Some(seen) = seen else {
        let mend = "where there is one, load its driver; without one a person must reset a trial whose kernel hangs";
        return Finding::warn(NAME, "none", mend);
    };
    let it = format!("{}, {} s", seen.identity, seen.timeout);
    let mend = "boot with watchdog.stop_on_reboot=0; that the hardware counts on across a reset, only a hang in GRUB shows";
    match seen.at_reboot {
        AtReboot::Runs => Finding::ok(NAME, format!("{it}, left running at a reboot")),
        AtReboot::Stopped => Finding::warn(NAME, format!("{it}, stopped at each reboot"), mend),
        AtReboot::Driver => Finding::warn(
            NAME,
            format!("{it}; its driver may stop it at a reboot"),
            mend,
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Ok, Warn};
    use super::*;

    /// What is found where /sys says this of the parameter.
    fn found(parameter: &str) -> Finding {
        let kernel = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = kernel.path().join("sys").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("class/watchdog/watchdog0/identity", "i6300ESB timer\n");
        write("class/watchdog/watchdog0/timeout", "30\n");
        write("module/watchdog/parameters/stop_on_reboot", parameter);
        judge(look(kernel.path()).as_ref())
    }

    #[test]
    fn one_that_runs_on_at_a_reboot_is_well() {
        let found = found("0\n");
        assert_eq!(found.verdict, Ok);
        assert!(
            found.seen.starts_with("i6300ESB timer, 30 s"),
            "{}",
            found.seen
        );
    }

    #[test]
    fn one_that_stops_or_may_stop_is_worth_a_look() {
        for (parameter, word) in [("1\n", "stopped at each"), ("-1\n", "may stop it")] {
            let found = found(parameter);
            assert_eq!(found.verdict, Warn);
            assert!(found.seen.contains(word), "{}", found.seen);
        }
    }

    #[test]
    fn none_is_worth_a_look() {
        let nothing = tempfile::tempdir().unwrap();
        assert_eq!(judge(look(nothing.path()).as_ref()).seen, "none");
    }
}

//! The machine's watchdog, which ends a hang that no software survives.
//!
//! Linux does not know whether the hardware keeps counting across a reset. A parameter says whether
//! the kernel stops the watchdog before a reset, if the parameter is set. In a trial systemd feeds
//! the watchdog: `systemd.watchdog_sec` is one of a trial's arguments.

use std::fmt;
use std::fs;
use std::path::Path;

use upgrade::Reason;

/// The kernel's own timer, by the name in drivers/watchdog/softdog.c. It hangs with the kernel, and
/// ends at a reset.
const SOFTWARE: &str = "Software Watchdog";

/// What Linux reports about a watchdog (Documentation/ABI/testing/sysfs-class-watchdog).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    identity: String,
    timeout: String,
    at_reboot: AtReboot,
}

/// The module parameter `watchdog.stop_on_reboot`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AtReboot {
    /// The parameter stops it.
    Stopped,
    /// The parameter lets it run.
    Runs,
    /// The driver decides.
    Driver,
}

impl Watchdog {
    /// The first watchdog, which is the one that systemd feeds, below the folder that holds `sys`.
    #[must_use]
    pub fn look(kernel: &Path) -> Option<Self> {
        let device = kernel.join("sys/class/watchdog/watchdog0");
        let read = |path: &Path| Some(fs::read_to_string(path).ok()?.trim().to_owned());
        let parameter = read(&kernel.join("sys/module/watchdog/parameters/stop_on_reboot"));
        Some(Self {
            identity: read(&device.join("identity"))?,
            timeout: read(&device.join("timeout")).unwrap_or_default(),
            at_reboot: match parameter.as_deref() {
                Some("1") => AtReboot::Stopped,
                Some("0") => AtReboot::Runs,
                Some(_) | None => AtReboot::Driver,
            },
        })
    }

    /// Whether it guards a trial from the reboot on, as far as Linux can tell.
    #[must_use]
    pub fn guards(&self) -> bool {
        !self.is_software() && self.at_reboot == AtReboot::Runs
    }

    fn is_software(&self) -> bool {
        self.identity == SOFTWARE
    }
}

impl fmt::Display for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, {} s", self.identity, self.timeout)?;
        if self.is_software() {
            return f.write_str(", which is not hardware");
        }
        f.write_str(match self.at_reboot {
            AtReboot::Runs => ", left running at a reboot",
            AtReboot::Stopped => ", stopped at each reboot",
            AtReboot::Driver => "; its driver may stop it at a reboot",
        })
    }
}

/// Checks that a watchdog guards a trial, for policies that require one.
///
/// # Errors
/// [`Reason::NoWatchdog`] with what exists instead.
pub fn fitness(kernel: &Path) -> Result<(), Reason> {
    let found = match Watchdog::look(kernel) {
        Some(watchdog) if watchdog.guards() => return Ok(()),
        Some(watchdog) => watchdog.to_string(),
        None => "none".to_owned(),
    };
    Err(Reason::NoWatchdog { found })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Why this watchdog is rejected when /sys reports this parameter, or `None` if it is accepted.
    fn refused(identity: &str, parameter: &str) -> Option<String> {
        let kernel = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = kernel.path().join("sys").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("class/watchdog/watchdog0/identity", identity);
        write("class/watchdog/watchdog0/timeout", "30\n");
        write("module/watchdog/parameters/stop_on_reboot", parameter);
        fitness(kernel.path())
            .err()
            .map(|reason| reason.to_string())
    }

    #[test]
    fn hardware_that_runs_on_at_a_reboot_guards_a_trial() {
        assert_eq!(refused("i6300ESB timer\n", "0\n"), None);
    }

    #[test]
    fn hardware_that_stops_or_may_stop_at_a_reboot_does_not() {
        for (parameter, words) in [("1\n", "stopped at each"), ("-1\n", "may stop it")] {
            let said = refused("i6300ESB timer\n", parameter).unwrap();
            assert!(said.contains("i6300ESB timer, 30 s"), "{said}");
            assert!(said.contains(words), "{said}");
        }
    }

    #[test]
    fn the_kernels_own_timer_does_not() {
        let said = refused("Software Watchdog\n", "0\n").unwrap();
        assert!(said.contains("no hardware"), "{said}");
    }

    #[test]
    fn none_does_not() {
        let nothing = tempfile::tempdir().unwrap();
        let found = "none".to_owned();
        assert_eq!(fitness(nothing.path()), Err(Reason::NoWatchdog { found }));
    }
}

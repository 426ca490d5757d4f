//! The settings that a trial's arguments give the running kernel and systemd. They end a trial that
//! hangs. A blessed system serves on in the same boot, so the agent puts back what the old system
//! had. The agent notes that on the disk when it arms the trial, so a restarted agent finds it.

use std::fs;
use std::path::Path;

use host::{Places, durable};
use serde::{Deserialize, Serialize};
use systemd::Bus;
use tracing::{info, warn};
use upgrade::names;

/// A kernel argument of a trial, the sysctl that it sets, and the value.
const KERNEL: [(&str, &str, &str); 3] = [
    ("panic=10", "kernel/panic", "10"),
    ("oops=panic", "kernel/panic_on_oops", "1"),
    ("softlockup_panic=1", "kernel/softlockup_panic", "1"),
];

/// What `systemd.watchdog_sec` of a trial sets, in microseconds.
const WATCHDOG: u64 = 60_000_000;

/// Where sysctl.d(5) and systemd-system.conf(5) are configured.
const SYSCTL: [&str; 5] = [
    "etc/sysctl.conf",
    "etc/sysctl.d",
    "run/sysctl.d",
    "usr/local/lib/sysctl.d",
    "usr/lib/sysctl.d",
];
const SYSTEMD: [&str; 5] = [
    "etc/systemd/system.conf",
    "etc/systemd/system.conf.d",
    "run/systemd/system.conf.d",
    "usr/local/lib/systemd/system.conf.d",
    "usr/lib/systemd/system.conf.d",
];

/// What a system has.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Settings {
    /// The values of the sysctls of [`KERNEL`], in that order. Empty where the kernel has none.
    kernel: [String; 3],
    /// For how long systemd may be silent before the watchdog resets the machine, in microseconds.
    watchdog: Option<u64>,
}

/// Notes what this system has, for the one that is about to be tried. `kernel` is the folder that
/// holds `proc`.
pub async fn note(places: &Places, kernel: &Path) {
    let settings = Settings {
        kernel: KERNEL.map(|(_, sysctl, _)| value(kernel, sysctl).unwrap_or_default()),
        watchdog: watchdog().await.ok(),
    };
    let text = serde_json::to_vec(&settings).unwrap_or_default();
    if let Err(error) = durable::write(&places.sysroot.join(names::SETTINGS_NOTE), &text, 0o600) {
        warn!("cannot note the settings of the old system: {error}");
    }
}

/// Puts back what the old system had, where the system still has what its trial set. Without a note
/// there is nothing to do.
pub async fn restore(places: &Places, kernel: &Path) {
    let file = places.sysroot.join(names::SETTINGS_NOTE);
    let Some(before) = read(&file) else {
        return;
    };
    let mut done = restore_kernel(kernel, &before);
    if let Some(before) = before.watchdog {
        done &= restore_watchdog(kernel, before).await;
    }
    // A note that stays is tried again after the next verb.
    if done && let Err(error) = durable::remove(&file) {
        warn!("{error}");
    }
}

fn read(file: &Path) -> Option<Settings> {
    serde_json::from_slice(&fs::read(file).ok()?).ok()
}

fn restore_kernel(kernel: &Path, before: &Settings) -> bool {
    let all = KERNEL.iter().zip(&before.kernel);
    let due: Vec<_> = all
        .filter(|((_, sysctl, trial), before)| {
            let is_trials = value(kernel, sysctl).as_deref() == Some(*trial);
            is_trials && !before.is_empty() && before != trial && !names(kernel, &SYSCTL, sysctl)
        })
        .collect();
    due.into_iter()
        .fold(true, |done, ((_, sysctl, _), before)| {
            let told = format!("{} = {before}", sysctl.replace('/', "."));
            let written = fs::write(path(kernel, sysctl), before);
            match &written {
                Ok(()) => info!("the trial is over: the kernel has {told} again"),
                Err(error) => warn!("cannot restore {told}: {error}. Set it with sysctl"),
            }
            done && written.is_ok()
        })
}

/// A system whose own configuration asks for a watchdog keeps the trial's where the old one had
/// none.
async fn restore_watchdog(kernel: &Path, before: u64) -> bool {
    let asked_for = names(kernel, &SYSTEMD, "RuntimeWatchdogSec");
    if before == WATCHDOG || before == 0 && asked_for {
        return true;
    }
    let restored = async {
        if watchdog().await? == WATCHDOG {
            Bus::system().await?.set_runtime_watchdog(before).await?;
            let seconds = before / 1_000_000;
            info!("the trial is over: systemd has RuntimeWatchdogSec={seconds} again");
        }
        Ok::<_, systemd::Error>(())
    };
    let restored = restored.await;
    if let Err(error) = &restored {
        warn!("cannot restore systemd's RuntimeWatchdogSec: {error}. The next boot has it again");
    }
    restored.is_ok()
}

async fn watchdog() -> systemd::Result<u64> {
    Bus::system().await?.runtime_watchdog().await
}

fn value(kernel: &Path, sysctl: &str) -> Option<String> {
    let text = fs::read_to_string(path(kernel, sysctl)).ok()?;
    Some(text.trim().to_owned())
}

fn path(kernel: &Path, sysctl: &str) -> std::path::PathBuf {
    kernel.join("proc/sys").join(sysctl)
}

/// Whether the configuration below this root sets a key. Then the trial did not: it is applied
/// after the kernel's arguments.
fn names(root: &Path, places: &[&str], key: &str) -> bool {
    places.iter().any(|place| {
        let place = root.join(place);
        let files = fs::read_dir(&place).into_iter().flatten().flatten();
        let files = files.map(|file| file.path());
        let mut files = files.filter(|file| file.extension().is_some_and(|end| end == "conf"));
        sets(&place, key) || files.any(|file| sets(&file, key))
    })
}

fn sets(file: &Path, key: &str) -> bool {
    let text = fs::read_to_string(file).unwrap_or_default();
    text.lines().any(|line| {
        let name = line.split('=').next().unwrap_or_default().trim();
        line.contains('=') && name.trim_start_matches('-').replace('.', "/") == key
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::loader::TRIAL_ARGUMENTS;

    /// A machine on which these sysctls have these values.
    fn machine(values: [&str; 3]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for ((_, sysctl, _), value) in KERNEL.iter().zip(values) {
            write(root.path(), &format!("proc/sys/{sysctl}"), value);
        }
        root
    }

    fn write(root: &Path, file: &str, text: &str) {
        let file = root.join(file);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn values(root: &Path) -> [String; 3] {
        KERNEL.map(|(_, sysctl, _)| value(root, sysctl).unwrap())
    }

    fn had(values: [&str; 3]) -> Settings {
        let kernel = values.map(str::to_owned);
        let watchdog = None;
        Settings { kernel, watchdog }
    }

    #[test]
    fn each_setting_is_one_of_the_trials_arguments() {
        let mut arguments = TRIAL_ARGUMENTS.split(' ').collect::<Vec<_>>();
        arguments.retain(|argument| argument.contains("panic") || argument.contains("watchdog"));
        let mut known: Vec<_> = KERNEL.map(|(argument, ..)| argument).to_vec();
        known.push("systemd.watchdog_sec=60");
        assert_eq!(arguments, known);
    }

    #[test]
    fn blessed_system_has_the_settings_of_the_old_one() {
        let root = machine(["10\n", "1\n", "1\n"]);
        assert!(restore_kernel(root.path(), &had(["0", "1", "0"])));
        assert_eq!(values(root.path()), ["0", "1", "0"]);
    }

    #[test]
    fn setting_that_is_not_the_trials_stays() {
        let root = machine(["30\n", "1\n", "1\n"]);
        let conf = "# ours\n-kernel.panic_on_oops = 1\n";
        write(root.path(), "usr/lib/sysctl.d/50-new.conf", conf);
        write(
            root.path(),
            "etc/sysctl.d/x.conf~",
            "kernel.softlockup_panic=1",
        );
        assert!(restore_kernel(root.path(), &had(["0", "0", "0"])));
        assert_eq!(values(root.path()), ["30", "1", "0"]);
        assert!(restore_kernel(root.path(), &had(["", "", ""])), "not noted");
        assert_eq!(values(root.path()), ["30", "1", "0"]);
    }

    #[tokio::test]
    async fn note_outlives_the_reboot_and_a_restarted_agent() {
        let (old, new) = (machine(["0", "0", "0"]), machine(["10", "1", "1"]));
        let places = Places::running(old.path());
        fs::create_dir_all(places.sysroot.join(names::STATE_DIR)).unwrap();
        note(&places, old.path()).await;
        let file = places.sysroot.join(names::SETTINGS_NOTE);
        let noted = read(&file).unwrap();
        assert_eq!(noted.kernel, ["0", "0", "0"]);
        // The machine of a test has no systemd, or one that has no part in it.
        let text = serde_json::to_vec(&had(["0", "0", "0"])).unwrap();
        fs::write(&file, text).unwrap();
        restore(&places, new.path()).await;
        assert_eq!(values(new.path()), ["0", "0", "0"]);
        assert!(!file.exists());
        restore(&places, new.path()).await;
    }
}

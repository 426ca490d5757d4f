//! What a trial leaves for the old system: the agent's note of how far it has come, and what else
//! shows how it ended.

use std::fs;
use std::path::Path;
use std::time::{Duration, UNIX_EPOCH};

use host::{Places, durable, os};
use tokio::sync::watch;
use tracing::warn;
use upgrade::observe::Check;
use upgrade::{BootId, LastTrial, Phase, Record, TrialEnd, TrialNote, names};

use crate::hands::Local;

/// How often the agent notes how far the trial has come, and so about how exact the note is.
const PAUSE: Duration = Duration::from_secs(20);

/// The bit of a watchdog's `bootstatus` that says that it reset the machine
/// (include/uapi/linux/watchdog.h, `WDIOF_CARDRESET`).
const CARD_RESET: u32 = 0x20;

/// Where the kernel keeps its last words, and where systemd-pstore.service moves them.
const PSTORE: [&str; 2] = ["sys/fs/pstore", "var/lib/systemd/pstore"];

/// Notes forever how far the trial of this boot has come.
pub async fn note(places: &Places, mut found: watch::Receiver<Option<Local>>) {
    loop {
        let open = found.borrow_and_update().as_ref().map(open);
        match (os::boot_id(Path::new(os::BOOT_ID)), os::since_boot()) {
            (Ok(boot), Ok(now)) => {
                let seconds = now.0 / 1000;
                write(
                    places,
                    &TrialNote {
                        boot,
                        seconds,
                        open,
                    },
                );
            }
            (Err(error), _) | (_, Err(error)) => warn!("cannot note the trial: {error}"),
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The first check that does not pass. Beyond those of this machine it is one of the Node.
fn open(local: &Local) -> String {
    let own = [
        ("container runtime", &local.runtime),
        ("kubelet", &local.kubelet),
        ("kubeadm upgrade node", &local.kubeadm),
    ];
    let users = local.required.iter();
    let users = users.map(|(name, check)| (name.as_str(), check));
    let mut all = own.into_iter().chain(users);
    let first = all.find(|(_, check)| **check != Check::Pass);
    first.map_or("the Node", |(name, _)| name).to_owned()
}

fn write(places: &Places, note: &TrialNote) {
    let text = serde_json::to_vec(note).unwrap_or_default();
    let file = places.sysroot.join(names::TRIAL_NOTE);
    if let Err(error) = durable::write(&file, &text, 0o600) {
        warn!("cannot note how far the trial has come: {error}");
    }
}

/// What is left of the last trial of this record, looked at by the old system. `kernel` is the
/// folder that holds `sys` and `var`.
#[must_use]
pub fn look(places: &Places, kernel: &Path, record: &Record) -> LastTrial {
    let Some(up) = &record.upgrade else {
        return LastTrial::default();
    };
    let on_the_way = matches!(up.phase, Phase::Armed { .. } | Phase::Trial { .. });
    if !on_the_way {
        return LastTrial::default();
    }
    let armed = up.reached.iter().rev().find(|at| at.phase == "Armed");
    let guarded = up.attempt.guarded.as_ref();
    LastTrial {
        noted: noted(places).filter(|note| Some(&note.boot) == guarded),
        end: end(places, kernel, armed.map_or(u64::MAX, |at| at.at), guarded),
    }
}

fn noted(places: &Places) -> Option<TrialNote> {
    let text = fs::read(places.sysroot.join(names::TRIAL_NOTE)).ok()?;
    serde_json::from_slice(&text).ok()
}

fn end(places: &Places, kernel: &Path, armed: u64, boot: Option<&BootId>) -> Option<TrialEnd> {
    if has_panicked(kernel, armed) {
        return Some(TrialEnd::Panic);
    }
    if was_reset_by_a_watchdog(kernel) {
        return Some(TrialEnd::Watchdog);
    }
    let ended = fs::read_to_string(places.sysroot.join(names::DEADMAN_NOTE)).ok()?;
    (Some(ended.trim()) == boot.map(BootId::as_str)).then_some(TrialEnd::Deadman)
}

/// Whether the kernel has left last words since then, in seconds since 1970.
fn has_panicked(kernel: &Path, since: u64) -> bool {
    let entries = PSTORE.iter().flat_map(|folder| {
        let entries = fs::read_dir(kernel.join(folder));
        entries.into_iter().flatten().flatten()
    });
    entries
        .filter(|entry| {
            // Beside them are the logs of the console and of programs, which show no panic.
            let name = entry.file_name();
            name.as_encoded_bytes().starts_with(b"dmesg") || entry.path().is_dir()
        })
        .filter_map(|entry| entry.metadata().ok()?.modified().ok())
        .filter_map(|time| time.duration_since(UNIX_EPOCH).ok())
        .any(|time| time.as_secs() >= since)
}

fn was_reset_by_a_watchdog(kernel: &Path) -> bool {
    let devices = fs::read_dir(kernel.join("sys/class/watchdog"));
    let mut devices = devices.into_iter().flatten().flatten();
    devices.any(|device| {
        let text = fs::read_to_string(device.path().join("bootstatus"));
        let status = text.ok().and_then(|text| text.trim().parse::<u32>().ok());
        status.is_some_and(|status| status & CARD_RESET != 0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOOT: &str = "0b1c2d3e-0000-4000-8000-000000000001";

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn ended(files: &[(&str, &str)], armed: u64) -> Option<TrialEnd> {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in files {
            write(root.path(), path, text);
        }
        let places = Places::running(root.path());
        end(&places, root.path(), armed, BOOT.parse().ok().as_ref())
    }

    #[test]
    fn a_panic_shows_only_in_last_words_since_the_arming() {
        let words = [("sys/fs/pstore/dmesg-efi-1", "Kernel panic")];
        assert_eq!(ended(&words, 0), Some(TrialEnd::Panic));
        assert_eq!(ended(&words, u64::MAX), None, "of an earlier boot");
        let console = [("sys/fs/pstore/console-ramoops-0", "login:")];
        assert_eq!(ended(&console, 0), None);
        let archived = [("var/lib/systemd/pstore/1700000000/dmesg.txt", "x")];
        assert_eq!(ended(&archived, 0), Some(TrialEnd::Panic));
    }

    #[test]
    fn watchdog_and_deadman_are_told_from_a_reset_from_outside() {
        assert_eq!(ended(&[], 0), None);
        let status = |text| [("sys/class/watchdog/watchdog0/bootstatus", text)];
        assert_eq!(ended(&status("32\n"), 0), Some(TrialEnd::Watchdog));
        assert_eq!(ended(&status("0\n"), 0), None);
        let note = format!("sysroot/{}", names::DEADMAN_NOTE);
        assert_eq!(ended(&[(&note, BOOT)], 0), Some(TrialEnd::Deadman));
        assert_eq!(ended(&[(&note, "another")], 0), None);
    }
}

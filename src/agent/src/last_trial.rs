//! What a trial leaves for the old system: the agent's note of how far it has come, and what else
//! shows how it ended.

pub mod evidence;
pub mod last_errors;

use std::fs;
use std::path::Path;
use std::time::Duration;

use host::{Places, durable, os};
use tokio::sync::watch;
use tracing::warn;
use upgrade::observe::Check;
use upgrade::policy::{self, Demand};
use upgrade::serving::{Serving, failed};
use upgrade::{BootId, LastTrial, Record, TrialEnd, TrialNote, names};

use crate::access::Local;
use evidence::Shown;

/// How often the agent notes how far the trial has come, and so about how exact the note is.
const PAUSE: Duration = Duration::from_secs(20);

/// Notes forever how far the trial of this boot has come. `served` is how the old system served.
pub async fn note(places: &Places, served: &Serving, mut found: watch::Receiver<Option<Local>>) {
    loop {
        let open = found
            .borrow_and_update()
            .as_ref()
            .map(|local| open(local, served));
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
fn open(local: &Local, served: &Serving) -> String {
    let name = |(name, check): (&str, &Check)| (*check != Check::Pass).then(|| name.to_owned());
    let users = local.required.iter();
    let users = users.map(|(name, check)| (name.as_str(), check));
    let own = [
        ("container runtime", &local.runtime),
        ("kubelet", &local.kubelet),
        ("pod sandbox", &local.sandbox),
        ("kubeadm upgrade node", &local.kubeadm),
    ];
    let first = own.into_iter().chain(users).find_map(name);
    let first = first.or_else(|| units(local, served));
    let first = first.or_else(|| local.network.as_ref().err().map(ToString::to_string));
    let first = first.or_else(|| name(("pod network", &local.pod_network)));
    first.unwrap_or_else(|| "the Node".to_owned())
}

/// A unit that did not fail before the drain, or the boot that does not end.
fn units(local: &Local, served: &Serving) -> Option<String> {
    let before = served.units.as_ref()?;
    let Some(now) = &local.units else {
        return Some("systemd's units".to_owned());
    };
    // What only warns under the strict default holds no verdict back.
    let failed = failed(before, now, &policy::Serving::default());
    let mut required = failed.iter().filter(|(rated, _)| *rated == Demand::Require);
    let first = required.next();
    first.map(|(_, lack)| lack.key.replacen(':', " ", 1))
}

fn write(places: &Places, note: &TrialNote) {
    let text = serde_json::to_vec(note).unwrap_or_default();
    let file = places.sysroot.join(names::TRIAL_NOTE);
    if let Err(error) = durable::write(&file, &text, 0o600) {
        warn!("cannot note how far the trial has come: {error}");
    }
}

/// What is left of the last trial of this record, looked at by the old system. `kernel` is the
/// folder that holds `sys` and `var`, and `errors` asks for the last errors of a boot.
#[must_use]
pub fn look(
    places: &Places,
    kernel: &Path,
    record: &Record,
    errors: impl FnOnce(&BootId) -> Vec<String>,
) -> LastTrial {
    let Some(up) = &record.upgrade else {
        return LastTrial::default();
    };
    if !up.phase.awaits_a_verdict() {
        return LastTrial::default();
    }
    let armed = up.reached.iter().rev().find(|at| at.phase == "Armed");
    let guarded = up.attempt.guarded.as_ref();
    let noted = noted(places).filter(|note| Some(&note.boot) == guarded);
    let armed = armed.map_or(u64::MAX, |at| at.at);
    let at_work = noted.is_some();
    let image = up.to.as_ref().map(|to| places.deployment(to));
    let shown = evidence::of_the_trial(places, kernel, armed, image.as_deref());
    let shown = first(shown, || deadman(places, guarded, at_work));
    LastTrial {
        noted,
        end: shown.as_ref().map(|shown| shown.end),
        shown_by: shown.and_then(|shown| shown.file),
        errors: guarded.map_or_else(Vec::new, errors),
    }
}

/// The deadman's note tells more than another program's watchdog, which may reset a machine whose
/// shutdown hangs.
fn first(shown: Option<Shown>, deadman: impl FnOnce() -> Option<Shown>) -> Option<Shown> {
    match shown {
        Some(shown) if shown.end != TrialEnd::OtherWatchdog => Some(shown),
        shown => deadman().or(shown),
    }
}

fn noted(places: &Places) -> Option<TrialNote> {
    let text = fs::read(places.sysroot.join(names::TRIAL_NOTE)).ok()?;
    serde_json::from_slice(&text).ok()
}

/// The deadman's note of this boot, in which the agent was at work or not.
fn deadman(places: &Places, boot: Option<&BootId>, at_work: bool) -> Option<Shown> {
    let ended = fs::read_to_string(places.sysroot.join(names::DEADMAN_NOTE)).ok()?;
    let end = if at_work {
        TrialEnd::Deadman
    } else {
        TrialEnd::Unstarted
    };
    (Some(ended.trim()) == boot.map(BootId::as_str)).then_some(Shown { end, file: None })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use upgrade::observe::Causes;
    use upgrade::serving::{Down, Units};

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
        let shown = evidence::of_the_trial(&Places::running(root.path()), root.path(), armed, None);
        shown.map(|shown| shown.end)
    }

    #[test]
    fn a_panic_shows_only_in_last_words_since_the_arming() {
        let words = [("sys/fs/pstore/dmesg-efi-1", "Panic#1 Part1\n")];
        assert_eq!(ended(&words, 0), Some(TrialEnd::Panic));
        assert_eq!(ended(&words, u64::MAX), None, "of an earlier boot");
        let console = [("sys/fs/pstore/console-ramoops-0", "login:")];
        assert_eq!(ended(&console, 0), None);
        let archived = [(
            "var/lib/systemd/pstore/1700000000/dmesg.txt",
            "Panic#1 Part1\n",
        )];
        assert_eq!(ended(&archived, 0), Some(TrialEnd::Panic));
    }

    #[test]
    fn note_names_the_first_check_that_is_open() {
        let pass = || Check::Pass;
        let local = || Local {
            runtime: pass(),
            kubelet: pass(),
            sandbox: pass(),
            pod_network: pass(),
            credential: pass(),
            kubeadm: pass(),
            network: Ok(()),
            required: Vec::new(),
            units: Some(Units::default()),
            system: BTreeSet::new(),
            settings: None,
            limits: None,
            kernel: None,
            causes: Causes::default(),
        };
        let served = Serving {
            units: Some(Units::default()),
            ..Serving::default()
        };
        let named = |change: fn(&mut Local)| {
            let mut local = local();
            change(&mut local);
            open(&local, &served)
        };
        let pends = || Check::Pending(String::new());
        assert_eq!(named(|_| ()), "the Node");
        let mut slow = local();
        slow.sandbox = pends();
        assert_eq!(open(&slow, &served), "pod sandbox");
        let mut alone = local();
        alone.pod_network = pends();
        assert_eq!(open(&alone, &served), "pod network");
        assert_eq!(named(|local| local.units = None), "systemd's units");
        let down = Down {
            name: "probe.service".to_owned(),
            ..Down::default()
        };
        let mut fails = local();
        fails.units.as_mut().unwrap().down.push(down);
        assert_eq!(open(&fails, &served), "unit probe.service");
        assert_eq!(open(&fails, &Serving::default()), "the Node", "no note");
    }

    #[test]
    fn watchdog_and_deadman_are_told_from_a_reset_from_outside() {
        assert_eq!(ended(&[], 0), None);
        let status = |text| [("sys/class/watchdog/watchdog0/bootstatus", text)];
        assert_eq!(ended(&status("32\n"), 0), Some(TrialEnd::Watchdog));
        assert_eq!(ended(&status("0\n"), 0), None);
        let noted = |boot: &str, at_work| {
            let root = tempfile::tempdir().unwrap();
            write(
                root.path(),
                &format!("sysroot/{}", names::DEADMAN_NOTE),
                boot,
            );
            let places = Places::running(root.path());
            deadman(&places, BOOT.parse().ok().as_ref(), at_work).map(|shown| shown.end)
        };
        assert_eq!(noted(BOOT, true), Some(TrialEnd::Deadman));
        assert_eq!(noted(BOOT, false), Some(TrialEnd::Unstarted));
        assert_eq!(noted("another", true), None);
    }

    #[test]
    fn deadman_counts_before_the_watchdog_of_another_program() {
        let shown = |end| Some(Shown { end, file: None });
        let end = |found: TrialEnd| {
            let first = first(shown(found), || shown(TrialEnd::Deadman));
            first.map(|shown| shown.end)
        };
        assert_eq!(end(TrialEnd::OtherWatchdog), Some(TrialEnd::Deadman));
        assert_eq!(end(TrialEnd::OutsidePanic), Some(TrialEnd::OutsidePanic));
        let alone = first(shown(TrialEnd::OtherWatchdog), || None);
        assert_eq!(alone, shown(TrialEnd::OtherWatchdog));
    }
}

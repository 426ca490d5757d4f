//! What shows that a kernel panicked or hung, and which of it was there before a trial. pstore
//! keeps last words until somebody removes them, and gives them the time of its mount where the
//! firmware kept none (Linux, fs/pstore/inode.c, `pstore_mkfile`). kdump keeps its dumps for ever.
//! Some watchdogs keep their status until the power is off. So the agent notes all of them when it
//! arms a trial, and again when the trial has come up.

mod dumps;
mod kinds;
mod modules;
mod outside;
mod resets;

pub use resets::fed;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use host::{Places, durable, hash};
use serde::{Deserialize, Serialize};
use tracing::warn;
use upgrade::reason::complaint;
use upgrade::{TrialEnd, names};

/// Where the kernel keeps its last words, and where systemd-pstore.service moves them.
const PSTORE: [&str; 2] = ["sys/fs/pstore", "var/lib/systemd/pstore"];

/// What systemd-pstore.service puts together from the words beside it (systemd, src/pstore).
const TOGETHER: &str = "dmesg.txt";

/// How deep its folders are: a moment, and a part.
const DEPTH: usize = 3;

/// The most files that are looked at.
const MOST: usize = 256;

/// What ended a trial, and the file that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// What ended it.
    pub end: TrialEnd,
    /// The file, as a path of the node, with the kernel's words where they clear the image.
    pub file: Option<String>,
}

/// What was there at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
struct Evidence {
    /// The digests of the kernel's last words.
    words: BTreeSet<String>,
    /// The dumps of crashed kernels. An older agent noted none, and then they show nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    dumps: Option<BTreeSet<String>>,
    /// A watchdog says that it reset the machine.
    watchdog: bool,
    /// What the watchdog that systemd feeds calls itself. An older agent noted none.
    #[serde(skip_serializing_if = "Option::is_none")]
    fed: Option<String>,
}

/// What is there now, with the files that show it.
struct Now {
    words: BTreeMap<String, PathBuf>,
    dumps: BTreeMap<String, PathBuf>,
    resets: Vec<PathBuf>,
}

impl Now {
    /// `kernel` is the folder that holds `sys` and `var`.
    fn look(kernel: &Path) -> Self {
        let words = words(kernel).into_iter();
        Self {
            words: words
                .filter_map(|file| Some((digest(&file)?, file)))
                .collect(),
            dumps: dumps::below(kernel),
            resets: resets::all(kernel),
        }
    }

    fn noted(self, fed: Option<String>) -> Evidence {
        Evidence {
            words: self.words.into_keys().collect(),
            dumps: Some(self.dumps.into_keys().collect()),
            watchdog: !self.resets.is_empty(),
            fed,
        }
    }

    /// What ended a trial of the image at this root, where this was not there `before`.
    fn since(&self, before: &Evidence, kernel: &Path, image: Option<&Path>) -> Option<Shown> {
        let mut new = fresh(&self.words, &before.words);
        if let Some(before) = &before.dumps {
            new.extend(fresh(&self.dumps, before));
        }
        let resets = if before.watchdog {
            &[][..]
        } else {
            &self.resets
        };
        panic(&new, kernel, image).or_else(|| watchdog(resets, kernel, before.fed.as_deref()))
    }
}

/// The files whose marks were not there before.
fn fresh<'a>(now: &'a BTreeMap<String, PathBuf>, before: &BTreeSet<String>) -> Vec<&'a Path> {
    let new = now.iter().filter(|(mark, _)| !before.contains(*mark));
    new.map(|(_, file)| file.as_path()).collect()
}

/// As a path of the node.
fn path_of(file: &Path, kernel: &Path) -> String {
    let path = Path::new("/").join(file.strip_prefix(kernel).unwrap_or(file));
    path.display().to_string()
}

/// The panic that these files show, with the first of them.
fn panic(files: &[&Path], kernel: &Path, image: Option<&Path>) -> Option<Shown> {
    let file = *files.first()?;
    let path = path_of(file, kernel);
    Some(match outside::cause(files.iter().copied(), image) {
        None => Shown {
            end: TrialEnd::Panic,
            file: Some(path),
        },
        Some(cause) => Shown {
            end: TrialEnd::OutsidePanic,
            file: Some(format!("{path}: {:?}", complaint(&cause))),
        },
    })
}

/// The reset that these watchdogs show, where systemd fed the one of this identity.
fn watchdog(resets: &[PathBuf], kernel: &Path, fed: Option<&str>) -> Option<Shown> {
    let first = resets.first()?;
    if resets::is_systemds(resets, kernel, fed) {
        let end = TrialEnd::Watchdog;
        return Some(Shown { end, file: None });
    }
    Some(Shown {
        end: TrialEnd::OtherWatchdog,
        file: Some(path_of(first, kernel)),
    })
}

/// Notes what is there now, so that it does not count against the next trial, and the watchdog that
/// systemd feeds in it, by its name in /sys.
pub fn note(places: &Places, kernel: &Path, fed: &str) {
    let noted = Now::look(kernel).noted(resets::identity(kernel, fed));
    let text = serde_json::to_vec(&noted).unwrap_or_default();
    let file = places.sysroot.join(names::EVIDENCE_NOTE);
    if let Err(error) = durable::write(&file, &text, 0o600) {
        warn!("cannot note the last words of earlier kernels: {error}");
    }
}

/// What shows how a trial of the image at this root ended. Without a note, as an older agent armed
/// it, last words count from this moment on, in seconds since 1970.
#[must_use]
pub fn of_the_trial(
    places: &Places,
    kernel: &Path,
    armed: u64,
    image: Option<&Path>,
) -> Option<Shown> {
    let note = fs::read(places.sysroot.join(names::EVIDENCE_NOTE));
    let note = note
        .ok()
        .and_then(|text| serde_json::from_slice::<Evidence>(&text).ok());
    if let Some(before) = note {
        return Now::look(kernel).since(&before, kernel, image);
    }
    let words = words(kernel);
    let is_fresh = |file: &&Path| written(file).is_some_and(|time| time >= armed);
    let fresh = words.iter().map(PathBuf::as_path).filter(is_fresh);
    let fresh: Vec<_> = fresh.collect();
    panic(&fresh, kernel, image).or_else(|| watchdog(&resets::all(kernel), kernel, None))
}

fn written(file: &Path) -> Option<u64> {
    let time = fs::metadata(file).and_then(|meta| meta.modified()).ok()?;
    Some(time.duration_since(UNIX_EPOCH).ok()?.as_secs())
}

fn digest(file: &Path) -> Option<String> {
    let mut open = File::open(file).ok()?;
    hash::of(b"", [&mut open]).ok()
}

/// The files with the last words of a kernel that panicked.
fn words(kernel: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in PSTORE {
        below(&kernel.join(folder), DEPTH, &mut found);
    }
    found.retain(|file| kinds::is_of_a_panic(file));
    found
}

fn below(folder: &Path, depth: usize, found: &mut Vec<PathBuf>) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let paths: Vec<_> = entries.map(|entry| entry.path()).take(MOST).collect();
    // Beside them are the logs of the console and of programs, which show no panic.
    let is_word = |path: &&PathBuf| {
        let name = path.file_name().unwrap_or_default();
        name.as_encoded_bytes().starts_with(b"dmesg") && path.is_file()
    };
    let words: Vec<_> = paths.iter().filter(is_word).collect();
    let alone = words.len() == 1;
    let words = words.into_iter();
    found.extend(
        words
            .filter(|path| alone || !path.ends_with(TOGETHER))
            .cloned(),
    );
    found.truncate(MOST);
    if depth > 0 {
        let folders = paths
            .iter()
            .filter(|path| path.is_dir() && !path.is_symlink());
        folders.for_each(|folder| below(folder, depth - 1, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WORDS: &str = "sys/fs/pstore/dmesg-efi-1";
    const STATUS: &str = "sys/class/watchdog/watchdog0/bootstatus";

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// What shows the end of a trial that was armed with `before` on the machine.
    fn ended(before: &[(&str, &str)], after: &[(&str, &str)]) -> Option<TrialEnd> {
        shown(before, after).map(|shown| shown.end)
    }

    fn shown(before: &[(&str, &str)], after: &[(&str, &str)]) -> Option<Shown> {
        let root = tempfile::tempdir().unwrap();
        let places = Places::running(root.path());
        fs::create_dir_all(places.sysroot.join(names::STATE_DIR)).unwrap();
        let put = |files: &[(&str, &str)]| {
            for (path, text) in files {
                write(root.path(), path, text);
            }
        };
        put(before);
        note(&places, root.path(), "watchdog0");
        for (path, _) in before {
            fs::remove_file(root.path().join(path)).unwrap();
        }
        put(after);
        of_the_trial(&places, root.path(), 0, Some(&root.path().join("image")))
    }

    #[test]
    fn evidence_from_before_the_trial_does_not_count() {
        let old = [(WORDS, "Panic#1 Part1\nold"), (STATUS, "32\n")];
        assert_eq!(ended(&old, &old), None);
        let archive = "var/lib/systemd/pstore/1700000000/001";
        let part = format!("{archive}/dmesg-efi-1");
        let whole = format!("{archive}/dmesg.txt");
        let moved = [
            (part.as_str(), "Panic#1 Part1\nold"),
            (whole.as_str(), "Panic#1 Part1\nOld."),
        ];
        assert_eq!(ended(&old, &moved), None, "systemd-pstore has moved it");
    }

    #[test]
    fn reset_by_a_second_watchdog_blames_no_image() {
        let other = "sys/class/watchdog/watchdog1/bootstatus";
        let both = [(STATUS, "0\n"), (other, "0\n")];
        assert_eq!(ended(&both, &[(STATUS, "32\n")]), Some(TrialEnd::Watchdog));
        let reset = shown(&both, &[(other, "32\n")]).unwrap();
        assert_eq!(reset.end, TrialEnd::OtherWatchdog);
        assert_eq!(reset.file.unwrap(), "/sys/class/watchdog/watchdog1");
        let all = [(STATUS, "32\n"), (other, "32\n")];
        assert_eq!(ended(&both, &all), Some(TrialEnd::Watchdog));
        assert_eq!(ended(&[(other, "32\n")], &all[1..]), None, "an old one");
    }

    #[test]
    fn watchdog_that_another_kernel_numbers_otherwise_is_known() {
        let name = |number| format!("sys/class/watchdog/watchdog{number}/identity");
        let (first, second) = (name(0), name(1));
        let (first, second) = (first.as_str(), second.as_str());
        let other = "sys/class/watchdog/watchdog1/bootstatus";
        let before = [(first, "iTCO_wdt\n"), (second, "hpwdt\n")];
        let swapped = [(first, "hpwdt\n"), (second, "iTCO_wdt\n")];
        let end = |names: [_; 2], reset| ended(&before, &[&names[..], &[(reset, "32\n")]].concat());
        assert_eq!(end(swapped, other), Some(TrialEnd::Watchdog));
        assert_eq!(end(swapped, STATUS), Some(TrialEnd::OtherWatchdog));
        let renamed = [(first, "wdat_wdt\n"), (second, "hpwdt\n")];
        assert_eq!(end(renamed, STATUS), Some(TrialEnd::Watchdog));
    }

    #[test]
    fn panic_names_the_file_that_shows_it() {
        let file = |after: &str| shown(&[], &[(after, "Panic#1 Part1\n")])?.file;
        assert_eq!(file(WORDS), Some(format!("/{WORDS}")));
        let kdump = "var/crash/127.0.0.1-2026-11-29-12:00:01/vmcore-dmesg.txt";
        assert_eq!(file(kdump), Some(format!("/{kdump}")));
    }

    #[test]
    fn words_of_a_kernel_that_reboots_in_order_are_no_panic() {
        let end = |text: &str| ended(&[], &[(WORDS, text)]);
        for reason in ["Shutdown", "Emergency", "Unknown", "Restart", "Oops"] {
            let text = format!("{reason}#1 Part1\n<6>[ 9.1] reboot: Restarting system");
            assert_eq!(end(&text), None, "{reason}");
        }
        let panic = "Panic#1 Part2\n<4>[ 9.1] RIP: 0010:x";
        assert_eq!(end(panic), Some(TrialEnd::Panic));
        let again = "Emergency#2 Part1\n<0>[ 9.1] Kernel panic - not syncing: Fatal exception";
        assert_eq!(end(again), Some(TrialEnd::Panic), "the panic reboots");
        assert_eq!(end("\u{1}\u{2}"), None, "compressed words are not read");
    }

    #[test]
    fn panic_from_outside_is_told_from_one_of_the_image() {
        let line = |cause: &str| format!("<0>[ 9.1] Kernel panic - not syncing: {cause}\n<4> x");
        let end = |cause: &str| ended(&[], &[(WORDS, line(cause).as_str())]);
        for outside in [
            "softlockup: hung tasks",
            "hung_task: blocked tasks",
            "RCU Stall",
            "System is deadlocked on memory",
            "Asynchronous SError Interrupt",
            "Fatal local machine check",
            "Failed kernel mode recovery",
            "Too many consecutive machine checks while accessing user data",
            "Timeout synchronizing machine check over CPUs",
            "NMI: Not continuing",
            "sysrq triggered crash",
            "EXT4-fs (device sda2): panic forced after error",
        ] {
            assert_eq!(end(outside), Some(TrialEnd::OutsidePanic), "{outside}");
        }
        for own in [
            "Fatal exception in interrupt",
            "VFS: Unable to mount root fs on unknown-block(0,0)",
            "Attempted to kill init! exitcode=0x0000000b",
        ] {
            assert_eq!(end(own), Some(TrialEnd::Panic), "{own}");
        }
        let (soft, own) = (line("softlockup: hung tasks"), line("Fatal exception"));
        let both = [
            (WORDS, soft.as_str()),
            ("sys/fs/pstore/dmesg-efi-2", own.as_str()),
        ];
        assert_eq!(ended(&[], &both), Some(TrialEnd::Panic));
        let file = shown(&[], &both[..1]).unwrap().file.unwrap();
        assert_eq!(file, format!("/{WORDS}: \"softlockup: hung tasks\""));
    }

    #[test]
    fn oops_in_a_module_that_is_not_the_images_blames_no_image() {
        let own = "image/usr/lib/modules/6.12/kernel/fs/own-fs.ko.xz";
        let end = |places: &[&str], cause: &str| {
            let places = places.iter();
            let places: String = places
                .map(|place| format!("<4>[ 9.1] RIP: 0010:f+0x1/0x2{place}\n"))
                .collect();
            let text = format!("Panic#1 Part1\n{places}<4> RIP: 0033:0x7f\n<0>[ 9.2] {cause}");
            shown(&[], &[(own, ""), (WORDS, &text)]).unwrap()
        };
        let fatal = "Kernel panic - not syncing: Fatal exception in interrupt";
        let foreign = end(&[" [gpu]", " [gpu 12ab]"], fatal);
        assert_eq!(foreign.end, TrialEnd::OutsidePanic);
        let file = foreign.file.unwrap();
        assert!(file.contains("RIP: 0010:f+0x1/0x2 [gpu]"), "{file}");
        assert_eq!(end(&[" [gpu]"], "").end, TrialEnd::OutsidePanic, "cut off");
        for places in [
            &["", " [gpu]"][..],
            &[" [own_fs]"],
            &[" [gpu]", " [own_fs]"],
            &[],
        ] {
            assert_eq!(end(places, fatal).end, TrialEnd::Panic, "{places:?}");
        }
        let root = "Kernel panic - not syncing: VFS: Unable to mount root fs";
        assert_eq!(end(&[" [gpu]"], root).end, TrialEnd::Panic);
        let text = format!("Panic#1 Part1\n RIP: 0010:f+0x1/0x2 [gpu]\n{fatal}");
        let unread = shown(&[], &[(WORDS, &text)]).unwrap();
        assert_eq!(unread.end, TrialEnd::Panic, "the image is not there");
    }

    #[test]
    fn only_a_dump_of_this_trial_counts() {
        let root = tempfile::tempdir().unwrap();
        let places = Places::running(root.path());
        fs::create_dir_all(places.sysroot.join(names::STATE_DIR)).unwrap();
        let ended = || of_the_trial(&places, root.path(), 0, None);
        write(
            root.path(),
            "var/crash/202601010000/dmesg.202601010000",
            "old",
        );
        write(
            root.path(),
            "var/crash/_usr_bin_app.0.crash",
            "of a program",
        );
        note(&places, root.path(), "watchdog0");
        assert_eq!(ended(), None);
        write(
            root.path(),
            "var/crash/202611291200/dump.202611291200",
            "core",
        );
        assert_eq!(ended().unwrap().end, TrialEnd::Panic);
        let older = r#"{"words":[],"watchdog":false}"#;
        fs::write(places.sysroot.join(names::EVIDENCE_NOTE), older).unwrap();
        assert_eq!(ended(), None, "an older agent noted no dumps");
    }

    #[test]
    fn evidence_since_the_arming_counts_beside_older_evidence() {
        let old = [(WORDS, "Panic#1 Part1\nold")];
        let new = [old[0], ("sys/fs/pstore/dmesg-efi-2", "Panic#1 Part1\nnew")];
        assert_eq!(ended(&old, &new), Some(TrialEnd::Panic));
        assert_eq!(
            ended(&old, &[(WORDS, "Panic#1 Part1\nnew")]),
            Some(TrialEnd::Panic)
        );
        let reset = [old[0], (STATUS, "32\n")];
        assert_eq!(ended(&old, &reset), Some(TrialEnd::Watchdog));
        assert_eq!(ended(&[], &[]), None);
    }
}

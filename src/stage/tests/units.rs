//! The units keep the promise that nothing is strict except on a trial.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

const TRIAL: &str = "ConditionKernelCommandLine=careen.trial=1";

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

/// Every unit file with its text.
fn units() -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for folder in ["systemd/system", "dracut/55careen"] {
        for file in fs::read_dir(source().join(folder)).unwrap() {
            let path = file.unwrap().path();
            let unit = path
                .extension()
                .is_some_and(|end| end == "service" || end == "timer");
            if unit {
                found.push((path.clone(), fs::read_to_string(path).unwrap()));
            }
        }
    }
    assert!(found.len() > 10);
    found
}

#[test]
fn what_can_reboot_does_so_on_a_trial_alone() {
    for (path, text) in units() {
        let verbs = ["guard", "verify", "check", "deadman", "fallback", "gate"];
        let strict = verbs
            .iter()
            .any(|verb| text.contains(&format!("careen-stage {verb}")));
        let timed = path.ends_with("careen-initrd-deadman.service");
        if (strict || text.contains("FailureAction=")) && !timed {
            assert!(text.contains(TRIAL), "{}", path.display());
        }
    }
}

/// The system that a trial falls back to needs the boot loader that started it.
#[test]
fn units_that_replace_the_boot_loader_wait_until_the_blessing() {
    let read = |unit: &str| {
        let folder = source().join("systemd/system");
        fs::read_to_string(folder.join(format!("{unit}.service.d/careen.conf"))).unwrap()
    };
    let bootupd = read("bootloader-update");
    assert!(bootupd.contains("\nRequires=boot-complete.target\n"));
    assert!(bootupd.contains("\nAfter=multi-user.target boot-complete.target\n"));
    let gate = source().join("systemd/system/careen-gate.service");
    let gate = fs::read_to_string(gate).unwrap();
    assert!(gate.contains("\nRequiredBy=boot-complete.target\n"));
    // It has Before=sysinit.target, so an order after the blessing would be a cycle.
    let bootctl = read("systemd-boot-update");
    assert!(bootctl.contains("\nConditionKernelCommandLine=!careen.trial=1\n"));
}

/// The package may be installed anywhere. What is enabled there waits for OSTree, a record or a
/// trial.
#[test]
fn every_enabled_unit_has_a_condition_on_ostree_or_a_trial() {
    let conditions = [
        TRIAL,
        "ConditionKernelCommandLine=|careen.trial=1",
        "ConditionPathExists=/run/ostree-booted",
        "ConditionPathExists=/sysroot/ostree/careen",
    ];
    let enabled = units()
        .into_iter()
        .filter(|(_, text)| text.contains("\n[Install]\n"));
    let enabled: Vec<_> = enabled.collect();
    assert!(enabled.len() > 6, "only {} are enabled", enabled.len());
    for (path, text) in enabled {
        let mut lines = text.lines();
        let waits = lines.any(|line| conditions.contains(&line));
        assert!(waits, "{}", path.display());
    }
}

#[test]
fn the_kubelets_state_is_put_back_in_every_boot_but_a_trial() {
    let text = fs::read_to_string(source().join("systemd/system/careen-restore.service")).unwrap();
    assert!(text.contains("ConditionKernelCommandLine=!careen.trial=1"));
    assert!(text.contains("Before=kubelet.service"));
}

#[test]
fn a_slow_card_has_ten_minutes_for_the_kubelets_state() {
    let text = fs::read_to_string(source().join("systemd/system/careen-restore.service")).unwrap();
    // 256 MiB at most, each file flushed: a card that writes 1 MB/s needs half of it.
    assert!(text.lines().any(|line| line == "TimeoutStartSec=600"));
}

#[test]
fn agent_unit_is_only_ordered_after_restore_and_repair() {
    let agent = fs::read_to_string(source().join("systemd/system/careen-agent.service")).unwrap();
    for unit in [upgrade::names::RESTORE_UNIT, upgrade::names::REPAIR_UNIT] {
        let named: Vec<_> = agent.lines().filter(|line| line.contains(unit)).collect();
        assert_eq!(named.len(), 1, "{unit}");
        assert!(named[0].starts_with("After="), "{unit}: {named:?}");
    }
}

/// The line above the argument for what is not sandboxed in a unit.
const LEFT_OPEN: &str = "# What systemd-analyze security leaves open, and why:";

#[test]
fn every_service_says_what_it_leaves_open_and_why() {
    let mut found = 0;
    let folders = ["systemd/system", "dracut/55careen"];
    let files = folders.map(|folder| fs::read_dir(source().join(folder)).unwrap());
    for file in files.into_iter().flatten() {
        let path = file.unwrap().path();
        if path.extension().is_none_or(|end| end != "service") {
            continue;
        }
        let text = fs::read_to_string(&path).unwrap();
        let mut lines = text.lines().skip_while(|line| *line != LEFT_OPEN).skip(1);
        let why = lines.next().unwrap_or_default();
        assert!(
            why.starts_with("# ") && why.len() > 40,
            "{}",
            path.display()
        );
        found += 1;
    }
    assert_eq!(found, 12);
}

#[test]
fn deadman_is_a_simple_service_without_timeouts_run_by_a_timer() {
    let text = fs::read_to_string(source().join("systemd/system/careen-deadman.service")).unwrap();
    let has = |line: &str| text.lines().any(|found| found == line);
    assert!(has("Type=simple") && has("IgnoreOnIsolate=yes"));
    // No limit ends it: a look that hangs is its own to end, and with it the trial.
    for limit in ["TimeoutStartSec", "RuntimeMaxSec", "WatchdogSec"] {
        assert!(!text.contains(limit), "{limit}");
    }
    let timer = fs::read_to_string(source().join("systemd/system/careen-deadman.timer")).unwrap();
    let has = |line: &str| timer.lines().any(|found| found == line);
    assert!(has("OnActiveSec=1") && has("OnUnitInactiveSec=30"));
}

#[test]
fn deadman_units_do_not_start_after_this_boot_has_passed() {
    let mark = upgrade::names::PASSED_MARK.replace("<boot>", "%b");
    for unit in [upgrade::names::DEADMAN_TIMER, upgrade::names::DEADMAN_UNIT] {
        let text = fs::read_to_string(source().join("systemd/system").join(unit)).unwrap();
        let condition = format!("ConditionPathExists=!{mark}");
        assert!(text.lines().any(|line| line == condition), "{unit}");
    }
    // What the stage has of /run is root's alone, as below.
    assert!(mark.starts_with("/run/careen/"), "{mark}");
}

#[test]
fn check_unit_is_ordered_before_every_container_runtime() {
    let text = fs::read_to_string(source().join("systemd/system/careen-check.service")).unwrap();
    let before = text.lines().find_map(|line| line.strip_prefix("Before="));
    let before: Vec<_> = before.unwrap_or_default().split(' ').collect();
    for unit in ["containerd.service", "crio.service", "kubelet.service"] {
        assert!(before.contains(&unit), "{unit}");
    }
}

#[test]
fn every_trial_carries_the_argument_that_the_units_look_for() {
    let arguments = host::loader::TRIAL_ARGUMENTS;
    assert!(
        arguments
            .split(' ')
            .any(|word| word == upgrade::names::TRIAL_ARGUMENT)
    );
    let text = fs::read_to_string(source().join("docs/architecture.md")).unwrap();
    // systemd before 256 knows the one, later ones both.
    for word in ["systemd.crash_reboot=1", "systemd.crash_action=reboot"] {
        assert!(arguments.split(' ').any(|found| found == word), "{word}");
    }
    assert!(
        text.contains(&format!("`{arguments}`")),
        "docs/architecture.md names other arguments"
    );
}

/// Everything below `folder` that a shell would read, with its number of lines.
fn scripts(folder: &Path, found: &mut Vec<(PathBuf, usize)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let facts = path.symlink_metadata().unwrap();
        if facts.is_dir() && ![".git", "target", "out"].contains(&name.as_str()) {
            scripts(&path, found);
        } else if facts.is_file() && facts.len() < 64 * 1024 {
            // What is no text is no script.
            let text = fs::read_to_string(&path).unwrap_or_default();
            let first = text.lines().next().unwrap_or_default();
            let shell = first.split_whitespace().any(|word| word.ends_with("sh"));
            if first.starts_with("#!") && shell {
                found.push((path, text.lines().count()));
            }
        }
    }
}

#[test]
fn the_shell_in_the_dracut_module_stays_small() {
    let mut found = Vec::new();
    scripts(&source().join("dracut/55careen"), &mut found);
    let lines: usize = found.iter().map(|(_, lines)| lines).sum();
    assert!((1..=40).contains(&lines), "{lines} lines: {found:?}");
}

#[test]
fn no_script_anywhere_has_fifty_lines() {
    let mut found = Vec::new();
    scripts(&source(), &mut found);
    assert!(found.len() > 10, "{found:?}");
    found.retain(|(_, lines)| *lines >= 50);
    assert_eq!(found, []);
}

#[test]
fn agent_runtime_and_state_folders_are_writable_only_by_root() {
    let read = |path: &str| fs::read_to_string(source().join(path)).unwrap();
    let agent = read("systemd/system/careen-agent.service");
    let private = [
        "RuntimeDirectory=careen",
        "RuntimeDirectoryMode=0700",
        "UMask=0077",
    ];
    for line in private {
        assert!(agent.lines().any(|found| found == line), "{line}");
    }
    let folders = read("systemd/tmpfiles.d/careen.conf");
    let folders: Vec<_> = folders
        .lines()
        .filter(|line| !line.starts_with('#'))
        .collect();
    assert!(folders.contains(&"d /run/careen 0700"));
    for line in folders {
        // Without an owner it is root's.
        let [kind, _, mode] = line.split(' ').collect::<Vec<_>>()[..] else {
            panic!("{line}");
        };
        assert!(kind == "d" && ["0700", "0755"].contains(&mode), "{line}");
    }
}

#[test]
fn agent_unit_has_a_memory_limit_and_always_restarts() {
    let mut found = 0;
    for (path, text) in units() {
        let set = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        if set("Type=") != Some("notify") {
            continue;
        }
        let path = path.display();
        assert!(set("MemoryMax=").is_some(), "{path}");
        assert_eq!(set("Restart="), Some("always"), "{path}");
        assert_eq!(set("StartLimitIntervalSec="), Some("0"), "{path}");
        // A check that needs too much is not to end the agent that runs it.
        assert_eq!(set("OOMPolicy="), Some("continue"), "{path}");
        found += 1;
    }
    assert_eq!(found, 1);
}

#[test]
fn no_fault_of_the_stage_takes_the_memory_of_a_running_system() {
    let mut found = 0;
    for file in fs::read_dir(source().join("systemd/system")).unwrap() {
        let path = file.unwrap().path();
        let text = fs::read_to_string(&path).unwrap_or_default();
        // The initramfs has nobody yet to take memory from.
        if !text.contains("ExecStart=/usr/libexec/careen/careen-stage")
            || text.contains("--initramfs")
        {
            continue;
        }
        let path = path.display();
        let mut lines = text.lines().peekable();
        let mut before = "";
        while lines
            .peek()
            .is_some_and(|line| !line.starts_with("MemoryMax="))
        {
            before = lines.next().unwrap_or_default();
        }
        let mib = lines
            .next()
            .and_then(|line| line.strip_prefix("MemoryMax="));
        let mib: u64 = mib
            .and_then(|limit| limit.strip_suffix('M'))
            .map_or(0, |mib| mib.parse().unwrap());
        // Two copies of the largest file of the kubelet's state, and the program.
        let least = if text.contains("careen-stage restore") {
            160
        } else {
            64
        };
        assert!((least..=256).contains(&mib), "{path}: {mib} MiB");
        assert!(before.starts_with("# "), "{path} does not say why");
        found += 1;
    }
    assert_eq!(found, 6);
}

#[test]
fn an_agent_whose_loop_hangs_is_restarted_by_systemd() {
    let text = fs::read_to_string(source().join("systemd/system/careen-agent.service")).unwrap();
    let set = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
    // The loop says that it is alive twice in that time; nothing in it waits longer than D-Bus may,
    // 25 s.
    assert_eq!(set("WatchdogSec="), Some("120"));
    assert_eq!(
        set("NotifyAccess="),
        Some("main"),
        "a check could say it for us"
    );
    assert_eq!(set("Restart="), Some("always"));
}

/// Lines of the agent's unit that say how it is started and ended. Every other one is a row of
/// docs/agent.md: checks and hooks notice it.
const NOT_NOTICED: [&str; 11] = [
    "Type",
    "NotifyAccess",
    "ExecStart",
    "Restart",
    "RestartSec",
    "WatchdogSec",
    "TimeoutStartSec",
    "TimeoutStopSec",
    "RuntimeDirectory",
    "RuntimeDirectoryMode",
    "RuntimeDirectoryPreserve",
];

#[test]
fn the_docs_list_what_the_agents_sandbox_hides() {
    let unit = fs::read_to_string(source().join("systemd/system/careen-agent.service")).unwrap();
    let service = unit.lines().skip_while(|line| *line != "[Service]").skip(1);
    let service = service.take_while(|line| !line.starts_with('['));
    let set = service.filter(|line| !line.starts_with('#') && line.contains('='));
    let name = |line: &str| line.split('=').next().unwrap_or_default().to_owned();
    let noticed: Vec<_> = set
        .filter(|line| !NOT_NOTICED.contains(&name(line).as_str()))
        .collect();
    let docs = fs::read_to_string(source().join("docs/agent.md")).unwrap();
    let (_, table) = docs
        .split_once("| the unit's line | what a check or a hook sees |")
        .unwrap();
    let rows = table
        .lines()
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let told: Vec<_> = rows
        .map(|row| row.split('`').nth(1).unwrap_or_default())
        .collect();
    assert_eq!(told, noticed, "docs/agent.md and the unit differ");
    assert!(noticed.len() > 10);
}

#[test]
fn checks_may_look_at_the_kernels_modules() {
    for (path, text) in units() {
        let hides = text
            .lines()
            .any(|line| line.starts_with("ProtectKernelModules="));
        assert!(!hides, "{}", path.display());
    }
}

/// The code that ships, by file: what stands before the tests at its end, and no file that is
/// nothing but tests.
fn shipped(folder: &Path, found: &mut Vec<(PathBuf, String)>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("tests") || path.ends_with("tests.rs") {
            continue;
        }
        if path.is_dir() {
            shipped(&path, found);
        } else if path.extension().is_some_and(|end| end == "rs") {
            let text = fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            found.push((path, code.to_owned()));
        }
    }
}

#[test]
fn no_program_of_ours_has_files_where_everybody_may_write() {
    let mut code = Vec::new();
    for crate_folder in fs::read_dir(source().join("src")).unwrap() {
        shipped(&crate_folder.unwrap().path().join("src"), &mut code);
    }
    assert!(code.len() > 100, "{}", code.len());
    for (path, text) in code {
        for word in [
            "\"/tmp",
            "\"/var/tmp",
            "temp_dir",
            "tempdir()",
            "tempfile()",
            "TempDir::new()",
            "NamedTempFile::new()",
        ] {
            assert!(!text.contains(word), "{word} in {}", path.display());
        }
    }
}

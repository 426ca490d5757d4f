//! What systemd itself says of the units: it knows every setting, and what each leaves open.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use serde_json::Value;

/// Where units lie below a root.
const UNITS: &str = "usr/lib/systemd/system";

/// What the units ask for that is not ours.
const FOREIGN: [(&str, &str); 6] = [
    ("basic.target", "[Unit]\n"),
    ("multi-user.target", "[Unit]\n"),
    ("shutdown.target", "[Unit]\n"),
    ("sysinit.target", "[Unit]\n"),
    ("timers.target", "[Unit]\n"),
    ("sysroot.mount", "[Mount]\nWhat=/dev/vda3\nWhere=/sysroot\n"),
];

/// What runs for ever, and with the network, may be exposed so much, in tenths of a point of ten.
/// systemd 252 gives it 53.
const AGENT: u32 = 55;

/// All others run for a moment in a boot or at its end, as root, at what carries the whole system;
/// what they leave open is argued in each. An unset UMask= or an ambient capability would go beyond
/// this.
const OTHERS: u32 = 96;

fn source() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

fn analyze(verb: &str) -> Command {
    let mut command = Command::new("systemd-analyze");
    command.args([verb, "--no-pager"]);
    command
}

fn output(mut command: Command) -> Output {
    let output = command.output();
    output.unwrap_or_else(|error| {
        panic!(
            "systemd-analyze cannot be run ({error}): it is in Debian's package systemd, and without it nobody has looked at the units"
        )
    })
}

/// Our units of a folder.
fn units(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).unwrap();
    let mut units: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    let ends = |path: &Path, end: &str| path.extension().is_some_and(|own| own == end);
    units.retain(|path| ends(path, "service") || ends(path, "timer"));
    units.sort();
    assert!(units.len() >= 3, "{}", folder.display());
    units
}

/// A system with the units of this folder, the programs that they start, and what else they ask
/// for.
fn system_with(folder: &Path) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let (there, programs) = (
        root.path().join(UNITS),
        root.path().join("usr/libexec/careen"),
    );
    fs::create_dir_all(&there).unwrap();
    fs::create_dir_all(&programs).unwrap();
    for (name, text) in FOREIGN {
        fs::write(there.join(name), text).unwrap();
    }
    for unit in units(folder) {
        fs::copy(&unit, there.join(unit.file_name().unwrap())).unwrap();
    }
    for program in ["careen-agent", "careen-stage"] {
        let path = programs.join(program);
        fs::write(&path, "#!/bin/sh\n").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }
    root
}

/// What systemd has to say against units, whether it calls that an error or ignores the line:
/// nothing where all is well.
fn complaints(root: &Path) -> String {
    let ours = units(&root.join(UNITS));
    let mut verify = analyze("verify");
    verify.arg("--man=no").arg("--root").arg(root).args(ours);
    let output = output(verify);
    let said = [output.stdout, output.stderr].concat();
    let said = String::from_utf8(said).unwrap();
    match output.status.code() {
        Some(0) => said,
        code => format!("{said}({code:?})"),
    }
}

#[test]
fn systemd_knows_every_setting_of_every_unit() {
    for folder in ["systemd/system", "dracut/55careen"] {
        let root = system_with(&source().join(folder));
        assert_eq!(complaints(root.path()), "", "{folder}");
    }
}

/// systemd only ignores such a line, and the unit then lacks what it was to bring.
#[test]
fn verify_reports_a_misspelt_setting_and_a_missing_program() {
    let root = system_with(&source().join("systemd/system"));
    let agent = root.path().join(UNITS).join("careen-agent.service");
    let text = fs::read_to_string(&agent).unwrap();
    fs::write(&agent, text.replace("MemoryMax=", "MemoryMaximum=")).unwrap();
    let said = complaints(root.path());
    assert!(said.contains("MemoryMaximum"), "{said}");
    fs::write(&agent, text).unwrap();
    fs::remove_file(root.path().join("usr/libexec/careen/careen-stage")).unwrap();
    let said = complaints(root.path());
    assert!(said.contains("careen-stage is not executable"), "{said}");
}

/// The services of the system and those of the initramfs.
fn services() -> Vec<PathBuf> {
    let folders = ["systemd/system", "dracut/55careen"];
    let units = folders.map(|folder| units(&source().join(folder)));
    let mut services = units.concat();
    services.retain(|unit| unit.extension().is_some_and(|end| end == "service"));
    services
}

fn security(unit: &Path, arguments: &[&str]) -> Output {
    let mut security = analyze("security");
    security.arg("--offline=true").args(arguments).arg(unit);
    output(security)
}

#[test]
fn no_service_is_exposed_more_than_it_says_why() {
    for unit in services() {
        let limit = if unit.ends_with("careen-agent.service") {
            AGENT
        } else {
            OTHERS
        };
        let output = security(&unit, &[&format!("--threshold={limit}")]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let last = said.lines().last().unwrap_or_default();
        assert!(
            output.status.success(),
            "at most {limit} of 100 is accepted: {last}"
        );
        assert!(last.contains("Overall exposure level"), "{last}");
    }
}

/// What a unit says for what it leaves open.
fn argument(unit: &Path) -> String {
    let text = fs::read_to_string(unit).unwrap();
    let begin = "# What systemd-analyze security leaves open, and why:\n";
    let (_, rest) = text.split_once(begin).unwrap_or_default();
    let lines = rest.lines().take_while(|line| line.starts_with('#'));
    lines.map(|line| format!("{}\n", &line[1..])).collect()
}

/// The settings that systemd finds open in a unit; some stand for several of its lines.
fn left_open(unit: &Path) -> BTreeSet<String> {
    let output = security(unit, &["--json=short"]);
    let found: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
    let open = found.iter().filter(|line| line["set"] == false);
    let names = open.filter_map(|line| line["name"].as_str()?.split('=').next());
    names.map(str::to_owned).collect()
}

#[test]
fn every_line_that_systemd_finds_open_is_argued_in_its_unit() {
    for unit in services() {
        let (argument, mut open) = (argument(&unit), left_open(&unit));
        assert!(open.len() > 10, "{}: {open:?}", unit.display());
        open.retain(|setting| !argument.contains(setting.as_str()));
        assert!(
            argument.starts_with(" All of it") || open.is_empty(),
            "{} does not say why it leaves open: {open:?}",
            unit.display()
        );
    }
}

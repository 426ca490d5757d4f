//! `careen-stage repair` on the files of a control plane whose raise was cut.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use host::Places;
use host::ledger::Ledger;
use upgrade::control_plane::Component;
use upgrade::control_plane::raise::{Note, Run, State};
use upgrade::names;

fn repair(root: &Path, more: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_careen-stage"));
    command.arg("repair").arg("--root").arg(root);
    command.arg("--sysroot").arg(root.join("sysroot"));
    command.arg("--run").arg(root.join("run"));
    command.args(more).output().unwrap()
}

/// A node whose etcd.yaml is empty.
fn cut(root: &Path, state: State) -> Ledger {
    let places = Places::running(root);
    fs::create_dir_all(places.state()).unwrap();
    fs::create_dir_all(root.join("etc/kubernetes/manifests")).unwrap();
    let ledger = Ledger::of(&places, &"one".parse().unwrap());
    for component in Component::ALL {
        fs::write(ledger.live(component), format!("{component}\n")).unwrap();
    }
    ledger.begin().unwrap();
    let (to, run) = ("v1.36.4".parse().unwrap(), Run::Node);
    ledger
        .set(&Note {
            to,
            run,
            etcd: false,
            at: 1,
            state,
        })
        .unwrap();
    fs::write(ledger.live(Component::Etcd), "").unwrap();
    ledger
}

#[test]
fn a_manifest_that_a_cut_took_is_there_before_the_kubelet() {
    let root = tempfile::tempdir().unwrap();
    let ledger = cut(root.path(), State::Raising);
    let etcd = ledger.live(Component::Etcd);
    let output = repair(root.path(), &["--dry-run"]);
    assert!(output.status.success());
    assert_eq!(fs::read_to_string(&etcd).unwrap(), "");
    let output = repair(root.path(), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("etcd.yaml is empty"), "{said}");
    assert_eq!(fs::read_to_string(&etcd).unwrap(), "etcd\n");
    let output = repair(root.path(), &[]);
    assert!(output.status.success() && output.stderr.is_empty());
}

#[test]
fn a_node_that_raises_nothing_is_left_alone() {
    let root = tempfile::tempdir().unwrap();
    let output = repair(root.path(), &[]);
    assert!(output.status.success(), "without a folder of Careen's");
    let ledger = cut(root.path(), State::Over);
    let output = repair(root.path(), &[]);
    assert!(output.status.success() && output.stderr.is_empty());
    let etcd = fs::read_to_string(ledger.live(Component::Etcd)).unwrap();
    assert_eq!(etcd, "");
}

#[test]
fn a_manifest_without_a_copy_is_told() {
    let root = tempfile::tempdir().unwrap();
    let ledger = cut(root.path(), State::Raising);
    ledger.has_served("3.7.0".parse().unwrap()).unwrap();
    let output = repair(root.path(), &[]);
    assert_eq!(output.status.code(), Some(1));
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(said.contains("Put the manifest there by hand"), "{said}");
}

/// systemd can start the unit at any time again, and kubeadm moves a manifest away before it moves
/// the other one in.
#[test]
fn a_raise_that_runs_keeps_its_manifests_to_itself() {
    let root = tempfile::tempdir().unwrap();
    let ledger = cut(root.path(), State::Raising);
    let lock = root
        .path()
        .join(names::CONTROL_LOCK.trim_start_matches('/'));
    fs::create_dir_all(lock.parent().unwrap()).unwrap();
    let lock = File::create(lock).unwrap();
    lock.lock().unwrap();
    let etcd = || fs::read_to_string(ledger.live(Component::Etcd)).unwrap();
    let output = repair(root.path(), &[]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(
        output.status.success() && said.contains("runs now"),
        "{said}"
    );
    assert_eq!(etcd(), "");
    drop(lock);
    assert!(repair(root.path(), &[]).status.success());
    assert_eq!(etcd(), "etcd\n");
}

/// The lines of the unit that set this.
fn unit(setting: &str) -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../systemd/system");
    let text = fs::read_to_string(folder.join(names::REPAIR_UNIT)).unwrap();
    let lines = text.lines().filter_map(|line| line.strip_prefix(setting));
    lines.map(str::to_owned).collect()
}

/// The files of a ledger.
fn files(ledger: &Ledger) -> Vec<PathBuf> {
    let entries = fs::read_dir(ledger.folder()).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn the_unit_runs_where_a_raise_has_begun_and_nowhere_else() {
    let [glob] = &unit("ConditionPathExistsGlob=")[..] else {
        panic!("not one pattern")
    };
    let root = tempfile::tempdir().unwrap();
    let pattern = root.path().join(glob.trim_start_matches('/'));
    let (before, after) = pattern.to_str().unwrap().split_once('*').unwrap();
    let is_met = |path: &Path| {
        let path = path.to_str().unwrap();
        let name = path.strip_prefix(before);
        let name = name.and_then(|rest| rest.strip_suffix(after));
        name.is_some_and(|id| !id.contains('/'))
    };
    let ledger = cut(root.path(), State::Raising);
    assert!(files(&ledger).iter().any(|path| is_met(path)), "{glob}");
    assert!(!is_met(ledger.folder()));
    // It is one of two conditions, and both must hold, also on a trial.
    assert_eq!(unit("ConditionPathExists="), ["/sysroot/ostree/careen"]);
    assert_eq!(unit("ConditionKernelCommandLine="), [""; 0]);
}

#[test]
fn the_unit_is_ordered_after_the_mount_and_before_the_kubelet() {
    let words = |setting| -> Vec<String> {
        let lines = unit(setting);
        let words = lines.iter().flat_map(|line| line.split(' '));
        words.map(str::to_owned).collect()
    };
    let mounts = words("RequiresMountsFor=");
    assert_eq!(mounts, ["/sysroot", names::KUBERNETES]);
    let after = words("After=");
    assert_eq!(after, ["local-fs.target", names::RESTORE_UNIT]);
    let before = words("Before=");
    for unit in [names::KUBELET_UNIT, names::KUBEADM_UNIT, "shutdown.target"] {
        assert!(before.iter().any(|found| found == unit), "{unit}");
    }
    // The kubelet would start it again in the middle of a raise.
    assert_eq!(words("WantedBy="), ["multi-user.target"]);
    assert_eq!(
        words("ExecStart="),
        ["/usr/libexec/careen/careen-stage", "repair"]
    );
}

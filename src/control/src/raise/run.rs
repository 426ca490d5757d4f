//! The run of kubeadm. It is never ended from here, because half an upgrade is worse than a late
//! one. But it ends with this program: nobody else follows what it writes, and a power cut takes a
//! manifest that nobody has kept.

use std::ffi::OsStr;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use host::kubeadm;
use host::ledger::Ledger;
use host::programs::{self, Program};
use tokio::process::{Child, Command};
use upgrade::control_plane::raise::Run;
use upgrade::control_plane::{Component, EtcdVersion};

use super::order::RaiseOrder;
use crate::look;
use crate::manifests::{Manifest, Manifests};

/// What kubeadm says, in the ledger. Over a pipe it says nothing until it ends.
const LOG: &str = "kubeadm.log";

/// kubeadm's configuration, in the ledger.
const CONFIGURATION: &str = "upgrade.yaml";

/// How often etcd is asked for its version meanwhile.
const PAUSE: Duration = Duration::from_secs(1);

/// The files of a run.
pub(super) struct Files<'a> {
    pub ledger: &'a Ledger,
    /// kubeadm has it as its standard input. So the lock shows a kubeadm that was left.
    pub lock: &'a File,
    /// Another kubeconfig than admin.conf.
    pub kubeconfig: Option<&'a Path>,
}

/// Runs `kubeadm upgrade` to its end.
pub(super) async fn run(
    order: &RaiseOrder,
    files: &Files<'_>,
    how: Run,
    configuration: &str,
) -> Result<(), String> {
    let ledger = files.ledger;
    let folder = ledger.folder();
    let file = folder.join(CONFIGURATION);
    let written = host::durable::write(&file, configuration.as_bytes(), 0o600);
    written.map_err(|error| error.to_string())?;
    let log = folder.join(LOG);
    let said = |error: io::Error| format!("{}: {error}", order.kubeadm.display());
    let arguments = arguments(how, &file, files.kubeconfig);
    let kubeadm = started(order, files.lock, &arguments, &log).map_err(said)?;
    let status = to_its_end(order, ledger, kubeadm).await.map_err(said)?;
    match status.success() {
        true => Ok(()),
        false => Err(complaint(status, &log)),
    }
}

fn arguments<'a>(how: Run, file: &'a Path, kubeconfig: Option<&'a Path>) -> Vec<&'a OsStr> {
    let how = match how {
        Run::Apply => &["upgrade", "apply", "--yes"][..],
        Run::Node => &["upgrade", "node"],
    };
    let pair = |flag: &'static str, path: &'a Path| [OsStr::new(flag), path.as_os_str()];
    let mut all: Vec<_> = how.iter().map(OsStr::new).collect();
    all.extend(pair("--config", file));
    all.extend(
        kubeconfig
            .into_iter()
            .flat_map(|path| pair("--kubeconfig", path)),
    );
    all
}

fn started(order: &RaiseOrder, lock: &File, arguments: &[&OsStr], log: &Path) -> io::Result<Child> {
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(true).mode(0o600);
    let log = options.open(log)?;
    let setpriv = Program::Setpriv.below(Path::new("/"))?;
    let mut command = Command::from(programs::alone(&setpriv, &path(&order.old_kubelet)));
    command
        // The kernel sends it when the thread that starts kubeadm ends, which is the one of `main`.
        .args(["--pdeathsig", "KILL", "--"])
        .arg(&order.kubeadm)
        .args(arguments)
        .envs(proxies(order))
        .stdin(Stdio::from(lock.try_clone()?))
        .stdout(Stdio::from(log.try_clone()?))
        .stderr(Stdio::from(log))
        // Ctrl-C does not reach it, and one signal reaches it with all that it has started.
        .process_group(0);
    command.spawn()
}

/// The folders of the kubelet that runs, then those of the system.
fn path(old_kubelet: &[PathBuf]) -> String {
    let folders = old_kubelet.iter().map(|one| one.display().to_string());
    let all: Vec<_> = folders.chain([programs::PATH.to_owned()]).collect();
    all.join(":")
}

/// kubeadm writes the proxies of its environment into the manifests.
fn proxies(order: &RaiseOrder) -> Vec<(String, String)> {
    let read = Manifests::read(&order.folder);
    let server = read.all.get(&Component::ApiServer);
    server.map(Manifest::proxies).unwrap_or_default()
}

/// Waits, and notes each newer etcd that serves meanwhile.
async fn to_its_end(
    order: &RaiseOrder,
    ledger: &Ledger,
    mut kubeadm: Child,
) -> io::Result<ExitStatus> {
    let mut ended = std::pin::pin!(kubeadm.wait());
    loop {
        tokio::select! {
            status = &mut ended => return status,
            version = served(order) => {
                if let Some(version) = version {
                    // It is noted again with the next look.
                    let _ = ledger.has_served(version);
                }
            }
        }
    }
}

/// The version of the own etcd, asked after a pause.
async fn served(order: &RaiseOrder) -> Option<EtcdVersion> {
    tokio::time::sleep(PAUSE).await;
    own_etcd(order).await
}

/// The version of the member of this node, if it answers. Its credential is read each time, because
/// kubeadm renews it.
pub(super) async fn own_etcd(order: &RaiseOrder) -> Option<EtcdVersion> {
    let read = Manifests::read(&order.folder);
    let etcd = read.all.get(&Component::Etcd)?;
    let found = look::own(&order.folder, Some(etcd)).await.ok()?;
    let mut members = found.members.into_iter();
    members.find(|one| Some(one.id) == found.me)?.version
}

/// How kubeadm ended, and why, from its log. For display alone.
fn complaint(status: ExitStatus, log: &Path) -> String {
    let said = std::fs::read(log).unwrap_or_default();
    programs::ended(Path::new("kubeadm"), status, &kubeadm::telling(&said))
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::process::ExitStatusExt;

    use host::Places;

    use super::*;
    use crate::folder::Folder;

    #[test]
    fn the_kubelet_that_runs_is_found_first() {
        assert_eq!(path(&[]), programs::PATH);
        let old = [PathBuf::from("/run/old"), PathBuf::from("/run/older")];
        let expected = format!("/run/old:/run/older:{}", programs::PATH);
        assert_eq!(path(&old), expected);
    }

    #[test]
    fn another_kubeconfig_is_named_to_kubeadm() {
        let file = Path::new("/a.yaml");
        let words = |how, kubeconfig| arguments(how, file, kubeconfig).join(OsStr::new(" "));
        let apply = words(Run::Apply, None);
        assert_eq!(apply, "upgrade apply --yes --config /a.yaml");
        let node = words(Run::Node, Some(Path::new("/run/b")));
        assert_eq!(node, "upgrade node --config /a.yaml --kubeconfig /run/b");
    }

    #[test]
    fn the_error_of_kubeadm_is_repeated_without_its_noise() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let of = |text: &str| {
            std::fs::write(&log, text).unwrap();
            complaint(ExitStatus::from_raw(1 << 8), &log)
        };
        let said = of("begin\nerror: no\n\nTo see the stack trace of this error\n");
        assert_eq!(said, "kubeadm ended with exit status 1: error: no");
        assert!(of("").contains("wrote nothing"));
    }

    /// The folder of the test that kills the process of the other one.
    const FOLDER: &str = "CAREEN_TEST_FOLDER";

    fn order(kubeadm: PathBuf) -> RaiseOrder {
        RaiseOrder {
            folder: Folder::below(Path::new("/nowhere")),
            places: Places::running(Path::new("/nowhere")),
            id: "one".parse().unwrap(),
            to: "v1.36.3".parse().unwrap(),
            kubeadm,
            images: None,
            runtime: PathBuf::new(),
            old_kubelet: Vec::new(),
            patches: None,
            ignore: Vec::new(),
            skip: Vec::new(),
            pod: Duration::ZERO,
            serving: Duration::ZERO,
            prune_before: None,
            now: 0,
        }
    }

    /// A careen-control that runs kubeadm, until it is killed.
    #[tokio::test]
    #[ignore = "it is a process of kubeadm_ends_with_the_program_that_runs_it"]
    async fn program_that_runs_kubeadm() {
        let folder = PathBuf::from(std::env::var_os(FOLDER).unwrap());
        let lock = File::create(folder.join("lock")).unwrap();
        lock.lock().unwrap();
        let order = order(folder.join("kubeadm"));
        let mut kubeadm = started(&order, &lock, &[], &folder.join("log")).unwrap();
        std::fs::write(folder.join("id"), kubeadm.id().unwrap().to_string()).unwrap();
        kubeadm.wait().await.unwrap();
    }

    fn until(what: &str, holds: impl Fn() -> bool) {
        let begun = std::time::Instant::now();
        while !holds() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{what}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn kubeadm_ends_with_the_program_that_runs_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        std::fs::write(at("kubeadm"), "#!/bin/sh\nexec sleep 100\n").unwrap();
        let mode = Permissions::from_mode(0o755);
        std::fs::set_permissions(at("kubeadm"), mode).unwrap();
        let own = std::env::current_exe().unwrap();
        let name = "raise::run::tests::program_that_runs_kubeadm";
        let mut program = std::process::Command::new(own)
            .args(["--exact", "--ignored", name])
            .env(FOLDER, folder.path())
            .spawn()
            .unwrap();
        let id = || std::fs::read_to_string(at("id")).unwrap_or_default();
        let runs = || {
            let name = std::fs::read_to_string(format!("/proc/{}/comm", id()));
            name.is_ok_and(|name| name == "sleep\n")
        };
        until("kubeadm runs", || !id().is_empty() && runs());
        let lock = File::open(at("lock")).unwrap();
        assert!(lock.try_lock().is_err(), "kubeadm has it as its input");
        program.kill().unwrap();
        program.wait().unwrap();
        until("kubeadm is gone", || lock.try_lock().is_ok());
    }
}

//! One run of the image's kubeadm. Its output goes to the journal as it comes, and the reason for a
//! failure goes to the caller.

use std::cell::RefCell;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use host::kubeadm::telling;
use host::programs::{Program, ended, last_line};
use nix::errno::Errno;
use tokio::io::{AsyncRead, AsyncReadExt};
use tokio::process::Command;

use upgrade::observe::Cause;

use super::work::Work;
use crate::health::confined::{around_the_agent, loaded_by_the_node};
use crate::health::crash::is_a_crash;
use crate::health::group::Group;
use crate::serving::is_broken;

/// How much of the end of the output is kept, in bytes.
const KEPT: usize = 16 * 1024;

/// How long the agent reads kubeadm's output after kubeadm ends. A program that kubeadm started and
/// left may hold the stream forever.
const ECHO: Duration = Duration::from_millis(500);

/// The exit status of kubeadm for its checks of the node (kubernetes,
/// cmd/kubeadm/app/util/error.go, `PreFlightExitCode`).
const PREFLIGHT: i32 = 2;

/// Why kubeadm did not succeed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failure {
    /// For a person: path, exit status and the last line on standard error.
    pub why: String,
    /// Where the cause is.
    pub cause: Cause,
}

impl Failure {
    /// The node's own files keep kubeadm from its work.
    pub(super) const fn of_the_node(why: String) -> Self {
        Self {
            why,
            cause: Cause::Node,
        }
    }

    fn of_the_image(why: &dyn std::fmt::Display) -> Self {
        Self {
            why: why.to_string(),
            cause: Cause::Image,
        }
    }
}

/// What its end shows. kubeadm has one exit status for an API server that refuses, a ConfigMap that
/// is missing and a disk that is full, so that status shows nothing of the image.
fn cause(status: ExitStatus) -> Cause {
    match (status.code(), status.signal()) {
        (Some(PREFLIGHT), _) => Cause::Node,
        (None, Some(signal)) if is_a_crash(signal) => Cause::Image,
        (Some(_) | None, _) => Cause::Unclear,
    }
}

/// Errors by which a program does not start for a disk that fails, or for want of memory or of
/// processes, whatever the program is.
const OF_THE_NODE: [Errno; 5] = [
    Errno::EAGAIN,
    Errno::EIO,
    Errno::EMFILE,
    Errno::ENFILE,
    Errno::ENOMEM,
];

/// Errors by which a program does not start that is not executable, or that a security policy of
/// the node denies (SELinux, AppArmor, fapolicyd).
const DENIED: [Errno; 2] = [Errno::EACCES, Errno::EPERM];

/// What an error by which this program of the system at this root does not start shows.
fn of_the_start(root: &Path, program: &Path, error: &std::io::Error) -> Cause {
    let errno = error.raw_os_error().map(Errno::from_raw);
    let is_of = |errors: &[Errno]| errno.is_some_and(|errno| errors.contains(&errno));
    let is_whole = || !is_broken(root, &inside(root, program));
    if is_of(&OF_THE_NODE) || (is_of(&DENIED) && is_whole()) {
        Cause::Unclear
    } else {
        Cause::Image
    }
}

/// The program's path in the system at this root.
fn inside(root: &Path, program: &Path) -> String {
    let inside = program.strip_prefix(root).unwrap_or(program);
    Path::new("/").join(inside).display().to_string()
}

/// The failure, which blames no image where a file of this node limits what kubeadm may do.
fn unconfined(root: &Path, failure: Failure) -> Failure {
    let file = || around_the_agent(root).or_else(|| loaded_by_the_node(root));
    let file = failure.cause.is_image().then(file);
    let Some(file) = file.flatten() else {
        return failure;
    };
    let (why, file) = (failure.why, file.display());
    Failure::of_the_node(format!(
        "{why}; {file}, which is this node's own, limits it or what it loads"
    ))
}

/// Runs this work of `kubeadm upgrade node` of the system at this root, with the patches in this
/// folder.
///
/// # Errors
/// Why kubeadm did not succeed.
pub(super) async fn upgrade_node(
    root: &Path,
    patches: Option<&Path>,
    work: Work,
    limit: Duration,
) -> Result<(), Failure> {
    let program = Program::Kubeadm
        .below(root)
        .map_err(|missing| Failure::of_the_image(&missing))?;
    let command = Program::Kubeadm.command_below(root);
    let mut command = Command::from(command.map_err(|missing| Failure::of_the_image(&missing))?);
    command.args(["upgrade", "node"]);
    match work {
        Work::Node => {}
        Work::KubeletConfig => {
            command.args(["phase", "kubelet-config"]);
        }
    }
    if let Some(patches) = patches {
        command.arg("--patches").arg(patches);
    }
    let words = RefCell::new(Vec::new());
    let run = run(&mut command, &words);
    match tokio::time::timeout(limit, run).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => {
            let why = ended(&program, status, &telling(&words.borrow()));
            let cause = cause(status);
            Err(unconfined(root, Failure { why, cause }))
        }
        Ok(Err(error)) => {
            let why = format!("cannot run {}: {error}", program.display());
            let cause = of_the_start(root, &program, &error);
            Err(unconfined(root, Failure { why, cause }))
        }
        Err(_) => Err(Failure {
            why: late(&program, limit, &words.borrow()),
            cause: Cause::Unclear,
        }),
    }
}

fn late(program: &Path, limit: Duration, words: &[u8]) -> String {
    let late = format!(
        "{} did not answer in {} s",
        program.display(),
        limit.as_secs()
    );
    match last_line(&telling(words)) {
        Some(line) => format!("{late}; its last line: {line}"),
        None => late,
    }
}

async fn run(command: &mut Command, words: &RefCell<Vec<u8>>) -> std::io::Result<ExitStatus> {
    command.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut group = Group::spawn(command)?;
    let (_, stderr) = group.streams();
    let over = tokio::sync::Notify::new();
    let ended = async {
        let status = group.wait().await;
        over.notify_one();
        status
    };
    let heard = async {
        tokio::select! {
            () = hear(stderr, words) => {}
            () = async { over.notified().await; tokio::time::sleep(ECHO).await } => {}
        }
    };
    tokio::join!(ended, heard).0
}

/// Copies everything to this program's standard error, until the stream ends.
async fn hear(stream: Option<impl AsyncRead + Unpin>, words: &RefCell<Vec<u8>>) {
    let Some(mut stream) = stream else { return };
    let mut piece = vec![0; 4096];
    while let Ok(read @ 1..) = stream.read(&mut piece).await {
        // If the journal accepts nothing more, that does not affect kubeadm.
        let _ = std::io::stderr().write_all(&piece[..read]);
        let mut words = words.borrow_mut();
        words.extend_from_slice(&piece[..read]);
        let surplus = words.len().saturating_sub(KEPT);
        words.drain(..surplus);
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use host::programs;

    use super::*;

    /// A system whose kubeadm is this script, with a second kubeadm in /usr/local that fails.
    fn system(script: &str) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (folder, script) in [
            ("usr/bin", script),
            ("usr/local/bin", "echo old >&2; exit 1"),
        ] {
            let folder = root.path().join(folder);
            fs::create_dir_all(&folder).unwrap();
            let path = folder.join("kubeadm");
            fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
        }
        root
    }

    async fn ran(script: &str) -> Result<(), String> {
        let root = system(script);
        let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(20)).await;
        ran.map_err(|failure| failure.why.replace(root.path().to_str().unwrap(), ""))
    }

    #[tokio::test]
    async fn the_images_kubeadm_runs_and_no_other_one() {
        let path = programs::PATH;
        let script = format!(
            "[ \"$1 $2\" = 'upgrade node' ] && [ \"$PATH\" = {path} ] && [ -z \"$KUBECONFIG\" ]"
        );
        assert_eq!(ran(&script).await, Ok(()));
    }

    #[tokio::test]
    async fn kubeadm_gets_the_folder_of_the_nodes_patches() {
        let root = system("[ \"$*\" = 'upgrade node phase kubelet-config --patches /etc/site' ]");
        let limit = Duration::from_secs(20);
        let ran = upgrade_node(
            root.path(),
            Some("/etc/site".as_ref()),
            Work::KubeletConfig,
            limit,
        )
        .await;
        assert_eq!(ran, Ok(()));
        assert!(
            upgrade_node(root.path(), None, Work::Node, limit)
                .await
                .is_err()
        );
    }

    #[tokio::test]
    async fn a_kubeadm_that_fails_is_told_by_path_status_and_line() {
        let script = "echo doing; echo 'error: no server' >&2; echo 'To see the stack trace of this error execute with --v=5 or higher' >&2; exit 3";
        let why = "/usr/bin/kubeadm ended with exit status 3: error: no server";
        assert_eq!(ran(script).await, Err(why.to_owned()));
        let why = ran("exit 1").await.unwrap_err();
        assert!(
            why.starts_with(
                "/usr/bin/kubeadm ended with exit status 1 and wrote nothing to standard error"
            ),
            "{why}"
        );
    }

    #[tokio::test]
    async fn end_of_kubeadm_shows_where_the_cause_is() {
        for (script, cause) in [
            ("exit 1", Cause::Unclear),
            ("exit 2", Cause::Node),
            ("kill -SEGV $$", Cause::Image),
            ("kill -KILL $$", Cause::Unclear),
        ] {
            let root = system(script);
            let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(20)).await;
            assert_eq!(ran.unwrap_err().cause, cause, "{script}");
        }
    }

    #[tokio::test]
    async fn crash_under_a_limit_of_the_node_is_not_the_images() {
        let root = system("kill -ABRT $$");
        let folder = root
            .path()
            .join("etc/systemd/system/careen-kubeadm.service.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("1.conf"), "[Service]\nTasksMax=5\n").unwrap();
        let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(20)).await;
        let Failure { why, cause } = ran.unwrap_err();
        assert_eq!(cause, Cause::Node);
        assert!(
            why.contains("careen-kubeadm.service.d/1.conf, which"),
            "{why}"
        );
    }

    #[tokio::test]
    async fn crash_with_a_library_path_of_the_node_is_not_the_images() {
        let root = system("kill -SEGV $$");
        let folder = root.path().join("etc/ld.so.conf.d");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("00-site.conf"), "/opt/site/lib\n").unwrap();
        let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(20)).await;
        let Failure { why, cause } = ran.unwrap_err();
        assert_eq!(cause, Cause::Node);
        assert!(
            why.contains("/etc/ld.so.conf.d/00-site.conf, which"),
            "{why}"
        );
    }

    #[test]
    fn disk_or_memory_that_fails_at_its_start_is_not_the_images() {
        let start = |errno| start(&system("exit 0"), errno);
        assert_eq!(start(Errno::EIO), Cause::Unclear);
        assert_eq!(start(Errno::ENOMEM), Cause::Unclear);
        assert_eq!(start(Errno::ENOEXEC), Cause::Image);
        assert_eq!(start(Errno::ENOENT), Cause::Image);
    }

    /// What it shows that kubeadm of this system does not start for this error.
    fn start(root: &tempfile::TempDir, errno: Errno) -> Cause {
        let kubeadm = root.path().join("usr/bin/kubeadm");
        of_the_start(root.path(), &kubeadm, &std::io::Error::from(errno))
    }

    #[test]
    fn kubeadm_that_a_security_policy_denies_is_not_the_images() {
        for errno in [Errno::EACCES, Errno::EPERM] {
            let root = system("exit 0");
            assert_eq!(start(&root, errno), Cause::Unclear, "{errno}");
            let kubeadm = root.path().join("usr/bin/kubeadm");
            let plain = fs::Permissions::from_mode(0o644);
            fs::set_permissions(&kubeadm, plain).unwrap();
            assert_eq!(start(&root, errno), Cause::Image, "it is not executable");
            fs::remove_file(kubeadm).unwrap();
            assert_eq!(start(&root, errno), Cause::Image, "it is missing");
        }
    }

    #[tokio::test]
    async fn an_image_without_kubeadm_says_where_it_was_looked_for() {
        let root = system("exit 0");
        fs::remove_file(root.path().join("usr/bin/kubeadm")).unwrap();
        let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(20)).await;
        let failure = ran.unwrap_err();
        assert!(failure.why.contains("/usr/bin"), "{failure:?}");
        assert_eq!(failure.cause, Cause::Image);
    }

    #[tokio::test]
    async fn a_kubeadm_that_hangs_is_ended_and_its_last_line_told() {
        let root = system("echo 'waiting for the server' >&2; sleep 1000");
        let ran = upgrade_node(root.path(), None, Work::Node, Duration::from_secs(1)).await;
        let Failure { why, cause } = ran.unwrap_err();
        assert_eq!(cause, Cause::Unclear);
        assert!(
            why.ends_with("did not answer in 1 s; its last line: waiting for the server"),
            "{why}"
        );
    }

    #[tokio::test]
    async fn what_kubeadm_leaves_behind_holds_up_nothing() {
        assert_eq!(ran("sleep 20 & exit 0").await, Ok(()));
    }
}

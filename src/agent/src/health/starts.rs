//! Whether a program of the image runs at all. `kubelet --version` and `containerd --version` read
//! no settings, so a failure is the image's, whatever this node's files say and whether the API
//! server is there or not. The linker looks at the image's libraries first, as a library in
//! /usr/local is this node's.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use host::programs::of_careen;
use tokio::process::Command;

use super::crash::is_a_crash;
use super::output::{self, Run};

/// The time limit of one run. One that is late shows nothing.
const LIMIT: Duration = Duration::from_secs(30);

/// The image's libraries, in the folders of the distributions (ld.so(8)).
pub(super) const LIBRARIES: &str = concat!(
    "/usr/lib/x86_64-linux-gnu:/usr/lib/aarch64-linux-gnu:",
    "/usr/lib64:/usr/lib"
);

/// How many failures in a row show that the program is broken. One may be due to the memory that
/// the node lacks for a moment.
const FAILURES: u32 = 2;

/// The runs of a program with `--version` in this boot.
#[derive(Debug, Default)]
pub struct Starts {
    passed: bool,
    failures: u32,
    why: String,
}

impl Starts {
    /// Runs the program, unless a run has passed.
    pub async fn look(&mut self, program: &Path) {
        if self.passed {
            return;
        }
        let mut command = Command::from(of_careen(program));
        command.arg("--version").env("LD_LIBRARY_PATH", LIBRARIES);
        if let Run::Ended(said) = output::within(LIMIT, &mut command).await {
            let failed = shows_a_fault(said.output.status) && !lacks(&said.output.stderr);
            self.passed = said.output.status.success();
            self.failures = if failed { self.failures + 1 } else { 0 };
            self.why = format!("{} --version: {}", program.display(), said.why());
        }
    }

    /// Why the program is broken, for a person.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        (self.failures >= FAILURES).then_some(self.why.as_str())
    }
}

/// A signal from outside, for instance of the OOM killer, shows nothing.
fn shows_a_fault(status: ExitStatus) -> bool {
    match status.signal() {
        Some(signal) => is_a_crash(signal),
        None => !status.success(),
    }
}

/// Words of a program or its linker by which it ends for a disk that fails, for want of memory, of
/// processes or of descriptors, or for a security policy of the node: errno(3) and Go's runtime
/// (runtime/os_linux.go, `newosproc`).
const OF_THE_NODE: [&str; 8] = [
    "input/output error",
    "cannot allocate memory",
    "resource temporarily unavailable",
    "too many open files",
    "operation not permitted",
    "permission denied",
    "newosproc",
    "runtime: out of memory",
];

/// Whether the program says that the node did not give it what it needs.
fn lacks(stderr: &[u8]) -> bool {
    let said = String::from_utf8_lossy(stderr).to_lowercase();
    OF_THE_NODE.iter().any(|words| said.contains(words))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn after(runs: &[&str]) -> Starts {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("kubelet");
        let mut starts = Starts::default();
        for script in runs {
            let _ = fs::remove_file(&program);
            fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
            fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
            starts.look(&program).await;
        }
        starts
    }

    const FAILS: &str = "echo 'libseccomp.so.2: no such file' >&2; exit 127";

    #[tokio::test]
    async fn kubelet_that_prints_no_version_twice_is_broken() {
        assert_eq!(after(&[FAILS]).await.fault(), None);
        let starts = after(&[FAILS, FAILS]).await;
        let why = starts.fault().unwrap();
        assert!(
            why.contains("kubelet --version: ") && why.contains("libseccomp.so.2"),
            "{why}"
        );
        assert!(after(&["kill -SEGV $$"; 2]).await.fault().is_some());
    }

    #[tokio::test]
    async fn kubelet_that_was_killed_or_once_printed_its_version_is_sound() {
        assert_eq!(after(&["kill -KILL $$"; 3]).await.fault(), None);
        assert_eq!(after(&["exit 0", FAILS, FAILS]).await.fault(), None);
        assert_eq!(after(&[FAILS, "kill -KILL $$", FAILS]).await.fault(), None);
    }

    #[tokio::test]
    async fn library_that_a_security_policy_denies_is_no_fault() {
        for said in [
            "error while loading shared libraries: libseccomp.so.2: cannot open shared object file: Permission denied",
            "error while loading shared libraries: libc.so.6: failed to map segment from shared object: Operation not permitted",
        ] {
            assert_eq!(after(&[fails(said).as_str(); 3]).await.fault(), None);
        }
    }

    fn fails(said: &str) -> String {
        format!("echo '{said}' >&2; exit 127")
    }

    #[tokio::test]
    async fn library_that_the_disk_does_not_deliver_is_no_fault() {
        for said in [
            "error while loading shared libraries: libseccomp.so.2: cannot read file data: Input/output error",
            "error while loading shared libraries: libc.so.6: failed to map segment from shared object: Cannot allocate memory",
            "runtime: failed to create new OS thread (have 2 already; errno=11); fatal error: newosproc",
        ] {
            assert_eq!(after(&[fails(said).as_str(); 3]).await.fault(), None);
        }
    }
}

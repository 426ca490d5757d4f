//! Which pods run on this machine, as its container runtime says.

use std::path::Path;
use std::time::Duration;

use cri::RunningPod;
use host::programs::of_careen;
use tokio::process::Command;

use super::output::{self, Run, late};
use super::runtime::SOCKET;
use crate::executables;

/// How long the runtime may take to answer.
const LIMIT: Duration = Duration::from_secs(10);

/// The pods of which a container runs, without static pods.
///
/// # Errors
/// The runtime was not asked, or does not answer.
pub async fn running_pods() -> Result<Vec<RunningPod>, String> {
    asked(&executables::deploy(), Path::new(SOCKET)).await
}

/// Asks the runtime through careen-deploy. Of very many pods the agent gets the last ones, and the
/// others as these end.
async fn asked(program: &Path, socket: &Path) -> Result<Vec<RunningPod>, String> {
    let mut command = Command::from(of_careen(program));
    command.arg("running-pods").arg("--socket").arg(socket);
    match output::within(LIMIT, &mut command).await {
        Run::Ended(said) if said.output.status.success() => {
            let said = String::from_utf8_lossy(&said.output.stdout);
            Ok(said.lines().filter_map(|line| line.parse().ok()).collect())
        }
        Run::Ended(said) => Err(said.why()),
        Run::Not(error) => Err(format!("cannot run {}: {error}", program.display())),
        Run::Late(_) => Err(format!("the runtime gave {}", late(LIMIT.as_secs(), 0))),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    async fn said(script: &str) -> Result<Vec<RunningPod>, String> {
        let folder = tempfile::tempdir().unwrap();
        let program = folder.path().join("careen-deploy");
        fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        asked(&program, Path::new("/run/x.sock")).await
    }

    #[tokio::test]
    async fn pods_that_run_are_read_from_careen_deploy() {
        let script = r#"[ "$*" = "running-pods --socket /run/x.sock" ] || exit 2
            printf 'cut/a\nuid-1 600 shop/db-0\nuid-2 - shop/web\n'"#;
        let found = said(script).await.unwrap();
        let names: Vec<_> = found.iter().map(|pod| (&*pod.name, pod.grace)).collect();
        assert_eq!(names, [("db-0", Some(600)), ("web", None)]);
    }

    #[tokio::test]
    async fn runtime_that_does_not_answer_is_no_empty_machine() {
        let why = said("echo 'cannot connect' >&2; exit 1").await.unwrap_err();
        assert!(why.starts_with("cannot connect"), "{why}");
    }
}

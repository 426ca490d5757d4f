//! An operator's shell at the top of the source tree, with `kubectl`, `helm` and the
//! administrator's kubeconfig. Scenarios type in it what `docs/` tells people to type.

use std::ffi::OsString;
use std::process::Stdio;

use anyhow::{Context, Result, ensure};
use testkit::control_plane::ControlPlane;
use testkit::programs;
use tokio::process::Command;

use crate::patience::within;
use crate::rig::Rig;
use crate::rig::story::UPGRADE;

/// Types a line that must succeed in the cluster of a scenario, and returns its output.
///
/// # Errors
///
/// Fails when it fails, or has not ended within the time of an upgrade.
pub async fn typed(rig: &Rig, line: &str) -> Result<String> {
    rig.progress.step(line);
    typed_at(&rig.plane, line).await
}

/// Like [`typed`], in any cluster.
///
/// # Errors
///
/// Fails when it fails, or has not ended within the time of an upgrade.
pub async fn typed_at(plane: &ControlPlane, line: &str) -> Result<String> {
    let mut shell = Command::new("sh");
    shell
        .args(["-c", line])
        .current_dir(programs::home().join(".."))
        .env("PATH", path(plane)?)
        .env("KUBECONFIG", plane.admin_kubeconfig())
        // Neither tool may find its files of another cluster.
        .env("HOME", plane.dir())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let ended = within(UPGRADE, shell.output()).await;
    let output = ended.with_context(|| format!("it has not ended yet: {line}"))??;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{line}: {}: {complaint}",
        output.status
    );
    Ok(String::from_utf8(output.stdout)?)
}

/// The shell's PATH, with the programs of this cluster and Helm first.
fn path(plane: &ControlPlane) -> Result<OsString> {
    let usual = std::env::var_os("PATH").unwrap_or_default();
    let ours = [plane.program("kubectl"), programs::helm()?];
    let folders = ours.iter().filter_map(|program| program.parent());
    let all = folders.map(Into::into).chain(std::env::split_paths(&usual));
    Ok(std::env::join_paths(all)?)
}

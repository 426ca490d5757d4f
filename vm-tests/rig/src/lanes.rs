//! Runs nodes in parallel. Each has its own process and network, because all frozen clusters have
//! the same ports. A node often waits (for a boot's timers, a deadline, a server that is away), so
//! two nodes share two cores well.

use std::path::Path;
use std::pin::pin;
use std::process::{Output, Stdio};

use anyhow::{Context, Result};
use serde::de::DeserializeOwned;
use tokio::process::{Child, Command};
use tokio::signal::ctrl_c;

/// The JSON output of this program, called with these arguments in a lane.
///
/// # Errors
///
/// Fails when the lane cannot start, or its output is not this type.
pub async fn in_a_lane<T: DeserializeOwned>(arguments: &[&str], programs: &Path) -> Result<T> {
    // Not `output`, which would hide its progress.
    let output = to_its_end(begin(arguments, programs)?).await?;
    serde_json::from_slice(&output.stdout).with_context(|| output.status.to_string())
}

/// Starts a lane. The kernel kills it when this process ends, in any way.
fn begin(arguments: &[&str], programs: &Path) -> Result<Child> {
    let mut lane = Command::new("setpriv");
    lane.args(["--pdeathsig", "KILL", "--", "unshare", "--net", "--"])
        .args(["sh", "-c"])
        .arg("ip link set lo up && exec \"$0\" \"$@\"")
        .arg(this_program())
        .args(arguments)
        .env("CAREEN_PROGRAMS", programs)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        // The lane then gets a Ctrl-C only from us, once, even if none was typed.
        .process_group(0)
        .kill_on_drop(true);
    lane.spawn().context("cannot run setpriv")
}

/// This program's running file, whatever its path contains now. A rebuild of the rig replaces that
/// file, and a run of hours would continue with another program, or with none. This link leads to
/// the file itself (proc(5)) as long as this process lives.
fn this_program() -> String {
    format!("/proc/{}/exe", std::process::id())
}

/// Waits for a lane. It forwards a Ctrl-C and gives the lane time to collect evidence.
async fn to_its_end(lane: Child) -> Result<Output> {
    let pid = lane.id();
    let mut end = pin!(lane.wait_with_output());
    tokio::select! {
        output = &mut end => return Ok(output?),
        _ = ctrl_c() => {}
    }
    if let Some(pid) = pid {
        let mut kill = Command::new("kill");
        kill.args(["-s", "INT", &pid.to_string()]).status().await?;
    }
    Ok(end.await?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The test starts a program that removes its own file, as a build does, and then starts itself
    /// through another program.
    #[test]
    fn rig_replaced_on_disk_still_starts_its_lanes_with_itself() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let rig = folder.path().join("rig");
        fs::copy("/bin/bash", &rig)?;
        let beginning = this_program().replace(&std::process::id().to_string(), "$$");
        let script = format!(r#"rm "$0"; sh -c 'exec "$0" -c "echo begun"' {beginning}; exit"#);
        let output = std::process::Command::new(&rig)
            .args(["-c", &script])
            .arg(&rig)
            .output()?;
        assert_eq!(
            String::from_utf8_lossy(&output.stdout),
            "begun\n",
            "{output:?}"
        );
        Ok(())
    }
}

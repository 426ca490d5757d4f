//! `kubectl careen` as a person types it, through kubectl itself, against the cluster of a rig.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::{Context, Result, bail, ensure};
use serde::de::DeserializeOwned;
use testkit::programs;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::guest::Output;
use crate::patience::within;
use crate::rig::Rig;
use crate::rig::story::UPGRADE;

/// The package that contains it, and its program's name.
const NAME: &str = "kubectl-careen";

/// kubectl, which finds the plugin, with the administrator's kubeconfig.
#[derive(Debug)]
pub struct KubectlCareen {
    kubectl: PathBuf,
    /// The plugin is in the first folder of this path.
    path: OsString,
    kubeconfig: PathBuf,
}

/// Builds it before a scenario's clock starts.
///
/// # Errors
///
/// Fails when it does not compile.
pub fn build() -> Result<()> {
    programs::ours(NAME).map(drop)
}

impl KubectlCareen {
    /// For the cluster of this rig.
    ///
    /// # Errors
    ///
    /// Fails when it does not compile.
    pub fn of(rig: &Rig) -> Result<Self> {
        let plugin = programs::ours(NAME)?;
        let folder = plugin.parent().context("it lies nowhere")?;
        let others = env::var_os("PATH").unwrap_or_default();
        let folders = env::split_paths(&others);
        Ok(Self {
            kubectl: rig.plane.program("kubectl"),
            path: env::join_paths([folder.to_owned()].into_iter().chain(folders))?,
            kubeconfig: rig.plane.admin_kubeconfig(),
        })
    }

    /// Runs it in a pipe, as a script does, and returns its output. Its messages for people go to
    /// the rig's own screen.
    ///
    /// # Errors
    ///
    /// Fails when it cannot be started, or has not ended within the time of an upgrade.
    pub async fn run(&self, line: &str) -> Result<Output> {
        let mut command = Command::new(&self.kubectl);
        command
            .arg("careen")
            .args(line.split_whitespace())
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true);
        // Not `output`, which would hide its messages for people.
        let child = command.spawn().context("cannot start it")?;
        let ended = within(UPGRADE, child.wait_with_output()).await;
        let output = ended.with_context(|| late(line))??;
        Ok(Output {
            code: output.status.code().unwrap_or(-1),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        })
    }

    /// Runs it with `-o json` and parses the last line of its output. With `--watch` that is the
    /// final result.
    ///
    /// # Errors
    ///
    /// Fails when it ends with another code, or prints something else.
    pub async fn json<T: DeserializeOwned>(&self, line: &str, code: i32) -> Result<T> {
        let watches = line.contains("--watch");
        let output = self.run(&format!("{line} -o json")).await?;
        ensure!(output.code == code, "{line:?} ended with {output:?}");
        let text = output.text.trim();
        let said = if watches {
            text.lines().last().unwrap_or_default()
        } else {
            text
        };
        serde_json::from_str(said).with_context(|| format!("{line:?} printed {text}"))
    }

    /// Runs it on a terminal, where it asks and draws, and types this answer. Returns what a person
    /// saw, as terminal output.
    ///
    /// # Errors
    ///
    /// Fails when there is no terminal, or it has not ended within the time of an upgrade.
    pub async fn on_terminal(&self, line: &str, answer: &str) -> Result<Output> {
        // script(1)'s terminal has no size until it is set, and without a size the plugin draws
        // nothing.
        let call = format!(
            "stty cols 120 rows 40 -echo; exec \"{}\" careen {line}",
            self.kubectl.display()
        );
        let mut child = Command::new("script")
            .args(["--quiet", "--return", "--flush", "--command", &call])
            .arg("/dev/null")
            .env("PATH", &self.path)
            .env("KUBECONFIG", &self.kubeconfig)
            // Independent of the rig's own terminal: the plugin cannot draw on a dumb one.
            .env("TERM", "xterm")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .context("cannot run script(1)")?;
        let Some(mut stdin) = child.stdin.take() else {
            bail!("script(1) has no input");
        };
        stdin.write_all(format!("{answer}\n").as_bytes()).await?;
        // Keep the terminal open until it has ended; `wait_with_output` would close it.
        let ended = within(UPGRADE, child.wait_with_output()).await;
        drop(stdin);
        let output = ended.with_context(|| late(line))??;
        Ok(Output {
            code: output.status.code().unwrap_or(-1),
            text: String::from_utf8_lossy(&output.stdout).into_owned(),
        })
    }
}

fn late(line: &str) -> String {
    format!("{line:?} has not ended within {UPGRADE:?}")
}

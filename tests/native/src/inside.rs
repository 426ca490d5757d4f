//! Work inside a member: its programs, its files, its static pods, its servers.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use kube::Client;
use serde_json::Value;

use crate::answers::{self, Etcd};
use crate::member::Member;
use crate::namespaces::Namespaces;

/// How long a question by [`Member::api_server_is_ready`] may take.
const PATIENCE: Duration = Duration::from_secs(10);

impl Member {
    /// A program inside, with the member's kubeadm and kubectl on the PATH and admin.conf as
    /// KUBECONFIG.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn command(&self, program: &str, arguments: &[&str]) -> Result<Command> {
        let mut command = self.inside(Namespaces::enter)?;
        command.arg(program).args(arguments);
        let own = self.images().commands().display().to_string();
        command
            .env("PATH", format!("{own}:/usr/sbin:/usr/bin:/sbin:/bin"))
            .env("KUBECONFIG", "/etc/kubernetes/admin.conf")
            .env("TMPDIR", "/run/tmp");
        Ok(command)
    }

    /// Runs a program inside to its end, and returns its standard output.
    ///
    /// # Errors
    ///
    /// Fails when it fails; the message has its standard error.
    pub fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let output = self.command(program, arguments)?.output()?;
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let complaint = String::from_utf8_lossy(&output.stderr);
        ensure!(
            output.status.success(),
            "{}: {program} {}: {}\n{text}\n{complaint}",
            self.name(),
            arguments.join(" "),
            output.status
        );
        Ok(text)
    }

    /// A path of the member as the host sees it, while the power is on. An absolute link in it
    /// would lead to the host.
    ///
    /// # Errors
    ///
    /// Fails while the power is off.
    pub fn path(&self, inside: &str) -> Result<PathBuf> {
        self.inside(|namespaces| namespaces.path(inside))
    }

    /// Reads a file of the member.
    ///
    /// # Errors
    ///
    /// Fails when it is not there, or no text.
    pub fn read(&self, path: &str) -> Result<String> {
        fs::read_to_string(self.path(path)?).with_context(|| format!("{}: {path}", self.name()))
    }

    /// Writes a file of the member: a new one beside it, which is then renamed.
    ///
    /// # Errors
    ///
    /// Fails when its folder is not there or not writable.
    pub fn write(&self, path: &str, content: &str) -> Result<()> {
        let to = self.path(path)?;
        let folder = to.parent().context("a path without a folder")?;
        let new = tempfile::Builder::new().prefix(".new-").tempfile_in(folder);
        let new = new.with_context(|| format!("{}: {path}", self.name()))?;
        fs::write(new.path(), content)?;
        new.persist(to)?;
        Ok(())
    }

    /// The id of a static pod's process, as the member sees it.
    ///
    /// # Errors
    ///
    /// Fails when the stand-in has not started it.
    pub fn pod_process(&self, pod: &str) -> Result<i64> {
        let note = self.read(&format!("/run/stand-in-kubelet/{pod}.json"))?;
        let note: Value = serde_json::from_str(&note)?;
        note["pid"].as_i64().context("a note without a pid")
    }

    /// Sends a signal (`KILL`, `STOP`, `CONT`) to a static pod's process. The stand-in starts it
    /// again 2 s after its end.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn signal_pod(&self, pod: &str, signal: &str) -> Result<()> {
        let process = self.pod_process(pod)?;
        self.run("sh", &["-c", &format!("kill -s {signal} {process}")])?;
        Ok(())
    }

    /// Kills a static pod's process. The stand-in starts it again after 2 s.
    ///
    /// # Errors
    ///
    /// Fails when it does not run.
    pub fn kill_pod(&self, pod: &str) -> Result<()> {
        self.signal_pod(pod, "KILL")
    }

    /// A client of its API server, with the administrator's rights.
    ///
    /// # Errors
    ///
    /// Fails while the power is off, or before kubeadm has made admin.conf.
    pub async fn client(&self) -> Result<Client> {
        let (door, _) = self.doors();
        answers::administrator(door, &self.path("/etc/kubernetes/admin.conf")?).await
    }

    /// Writes a kubeconfig with the credential of its kubelet, for a client of its own API server
    /// outside its namespaces.
    ///
    /// # Errors
    ///
    /// Fails while the power is off, or before the kubelet has a credential.
    pub fn kubelet_config(&self, folder: &Path) -> Result<PathBuf> {
        let pem = self.run("cat", &["/var/lib/kubelet/pki/kubelet-client-current.pem"])?;
        let authority = self.read("/etc/kubernetes/pki/ca.crt")?;
        let (own, ca) = (folder.join("kubelet.pem"), folder.join("ca.crt"));
        fs::write(&own, pem)?;
        fs::write(&ca, authority)?;
        let (door, _) = self.doors();
        let config = folder.join("kubelet.conf");
        fs::write(&config, answers::kubeconfig(door, &ca, &own).to_string())?;
        Ok(config)
    }

    /// A client of its etcd. It works on while the power is off, and then gets no answer.
    ///
    /// # Errors
    ///
    /// Fails while the power is off, or before kubeadm has made the certificates.
    pub async fn etcd(&self) -> Result<Etcd> {
        let (_, door) = self.doors();
        Etcd::at(door, &self.path("/etc/kubernetes/pki/etcd")?).await
    }

    /// Whether its API server says that it is ready.
    pub async fn api_server_is_ready(&self) -> bool {
        let Ok(client) = self.client().await else {
            return false;
        };
        let answer = tokio::time::timeout(PATIENCE, answers::is_ready(&client));
        answer.await.unwrap_or(false)
    }
}

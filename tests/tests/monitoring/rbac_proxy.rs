//! The shipped container's own program, kube-rbac-proxy, before an agent of this machine.
//!
//! Built of v0.19.1, the newest whose module and checksum could both be fetched; what is shipped by name is v0.21.0, whose own sources
//! (`cmd`, `pkg`) differ from it by how one condition is written.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::metrics_proxy::{PROXY, daemonset};
use careen_tests::world::PATIENCE;
use kube::config::{AuthInfo, Config};
use kube::{Client, Error};
use serde_json::Value;
use tempfile::TempDir;
use vm_tests::cluster_api::account::kubeconfig_of;
use vm_tests::cluster_api::objects;

use crate::prometheus::built;

/// Where the agent is that the shipped arguments name.
const AGENT: &str = "127.0.0.1:9840";

/// What the kubelet puts in the place of `$(IP)`.
const IP: &str = "$(IP)";

/// An address of this machine's own for a node that only its tests know of.
pub fn address_of_a_node(of: u8) -> Ipv4Addr {
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, of, high, low)
}

/// One that runs. Dropping it kills it.
pub struct RbacProxy {
    ip: Ipv4Addr,
    child: Child,
    folder: TempDir,
}

impl Drop for RbacProxy {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl RbacProxy {
    /// On a node of this address and with the shipped arguments, but for what a pod of the host's network has and a process of this
    /// machine has not: the API server and the token of its account, and the agent at the port that the policy is shipped with.
    pub async fn start(admin: &Client, ip: Ipv4Addr, agent: SocketAddr) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let kubeconfig = folder.path().join("kubeconfig");
        let content = kubeconfig_of(plane().await?, admin, PROXY).await?;
        fs::write(&kubeconfig, serde_json::to_vec(&content)?)?;
        let child = Command::new(built("kube-rbac-proxy")?.join("kube-rbac-proxy"))
            .args(arguments(ip, agent)?)
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .stdout(Stdio::null())
            .stderr(File::create(folder.path().join("log"))?)
            .spawn()?;
        let this = Self { ip, child, folder };
        let up = || async { this.asked("get", "/", "").await.map(drop) };
        let answers = objects::until("the proxy's first answer", PATIENCE, up).await;
        answers.with_context(|| this.log())?;
        Ok(this)
    }

    /// What it says of itself.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The status that it refuses with, or what came from the agent.
    pub async fn asked(&self, verb: &str, path: &str, token: &str) -> Result<Result<String, u16>> {
        let server = format!("https://{}:9841", self.ip);
        let mut config = Config::new(server.parse()?);
        config.accept_invalid_certs = true;
        if !token.is_empty() {
            let token = Some(token.to_owned().into());
            config.auth_info = AuthInfo {
                token,
                ..AuthInfo::default()
            };
        }
        let request = http::Request::builder()
            .method(verb.to_uppercase().as_str())
            .uri(path);
        let answer = Client::try_from(config)?
            .request_text(request.body(Vec::new())?)
            .await;
        match answer {
            Ok(text) => Ok(Ok(text)),
            Err(Error::Api(status)) => Ok(Err(status.code)),
            Err(other) => Err(other.into()),
        }
    }
}

fn arguments(ip: Ipv4Addr, agent: SocketAddr) -> Result<Vec<String>> {
    let daemonset = daemonset()?;
    let container = &daemonset["spec"]["template"]["spec"]["containers"][0];
    let words: Vec<_> = container["args"]
        .as_array()
        .context("no args")?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    let all = words.join(" ");
    ensure!(all.contains(IP) && all.contains(AGENT), "{all}");
    let one = |word: &&str| {
        word.replace(IP, &ip.to_string())
            .replace(AGENT, &agent.to_string())
    };
    Ok(words.iter().map(one).collect())
}

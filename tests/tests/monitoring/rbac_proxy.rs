//! The shipped container's own program, kube-rbac-proxy, in front of an agent of this machine.
//!
//! The build uses v0.19.1, the newest version with both a fetchable module and a checksum. The
//! shipped image is v0.21.0, whose own sources (`cmd`, `pkg`) differ only in how one condition is
//! written.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::cluster::plane;
use careen_tests::metrics_proxy::{PROXY, daemonset};
use kube::config::{AuthInfo, Config};
use kube::{Client, Error};
use serde_json::Value;
use tempfile::TempDir;
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::objects;

use crate::prometheus::built;

/// The agent's address in the shipped arguments.
const AGENT: &str = "127.0.0.1:9840";

/// The kubelet replaces `$(IP)`.
const IP: &str = "$(IP)";

/// A local address of this machine for a node that only its tests use.
pub fn address_of_a_node(of: u8) -> Ipv4Addr {
    let [.., high, low] = std::process::id().to_be_bytes();
    Ipv4Addr::new(127, of, high, low)
}

/// A running proxy. A drop kills it.
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
    /// Starts it on a node of this address with the shipped arguments. A process of this machine
    /// lacks some things that a pod in the host's network has. Those arguments differ: the API
    /// server, the token of its account, and the agent, which listens at the port of the shipped
    /// policy.
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

    /// Its log.
    fn log(&self) -> String {
        fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// The status with which it refuses, or the agent's answer.
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

//! The pod of the shipped Deployment, as a process on this machine.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::{provider_release, replica};
use kube::Client;
use provider::manifests::NAMESPACE;
use serde_json::Value;
use testkit::cluster_api::objects;
use testkit::cluster_api::provider::program;
use testkit::control_plane::ControlPlane;
use testkit::process::Process;
use tokio::sync::Mutex;

use crate::shipped_one;

/// The name of the pod.
pub const NAME: &str = "careen-provider-0";

/// What it logs when it listens. The fields of that line have the names of its ports.
const SERVES: &str = "careen-provider serves";

/// A running pod. A drop kills it.
pub struct Pod {
    container: Value,
    process: Mutex<Process>,
    log: PathBuf,
}

impl Pod {
    /// Starts the program with the arguments and the environment of the Deployment's container. A
    /// process on a host cannot have three things unchanged:
    ///
    /// - the numbers of its ports, which another program here may use: 0 replaces them, which means
    ///   any port;
    /// - the token and the authority that a kubelet mounts into a pod: `KUBECONFIG` names a file
    ///   with a token of the same account, where the program looks first;
    /// - the fields of the pod's own object: the values that the API server would give.
    pub async fn start(plane: &ControlPlane, admin: &Client) -> Result<Self> {
        let container = container()?;
        let credential = plane.dir().join("careen-provider.conf");
        let kubeconfig = provider_release::kubeconfig(plane, admin).await?;
        std::fs::write(&credential, serde_json::to_vec(&kubeconfig)?)?;
        // `env` replaces the container runtime: it sets the environment, and then becomes the
        // program itself.
        let mut words = vec![format!("KUBECONFIG={}", credential.display())];
        words.extend(environment(&container)?);
        words.push(program()?.display().to_string());
        words.extend(arguments(&container)?);
        let log = plane.dir().join("logs/careen-provider.log");
        let process = Process::start(Path::new("env"), &words, &log)?;
        Ok(Self {
            container,
            process: Mutex::new(process),
            log,
        })
    }

    /// The address of the port with this name in the container. Every line of its log is JSON
    /// because of `--log-json`.
    pub async fn address(&self, port: &str) -> Result<SocketAddr> {
        let ask = || async {
            self.process.lock().await.check()?;
            let text = std::fs::read_to_string(&self.log)?;
            let address: SocketAddr = served_at(&text, port)?.parse()?;
            // It listens on every address of the host.
            Ok(SocketAddr::from((Ipv4Addr::LOCALHOST, address.port())))
        };
        objects::until(&format!("port {port}"), PATIENCE, ask).await
    }

    /// Waits until the kubelet's request for this probe succeeds.
    pub async fn until_well(&self, probe: &str) -> Result<()> {
        let get = &self.container[probe]["httpGet"];
        let (path, port) = (text(&get["path"])?, text(&get["port"])?);
        let address = self.address(port).await?;
        let ask = || async {
            self.process.lock().await.check()?;
            let said = replica::get(address, path).await?;
            ensure!(said.contains("200 OK"), "{said}");
            Ok(())
        };
        objects::until(probe, PATIENCE, ask).await
    }
}

fn served_at(log: &str, port: &str) -> Result<String> {
    let lines: serde_json::Result<Vec<Value>> = log.lines().map(serde_json::from_str).collect();
    let lines = lines.with_context(|| format!("not lines of JSON: {log}"))?;
    let serves = |line: &&Value| line["fields"]["message"] == SERVES;
    let line = lines.iter().find(serves);
    let address = line.and_then(|line| line["fields"][port].as_str());
    let address = address.with_context(|| format!("it does not say where: {log}"))?;
    Ok(address.to_owned())
}

fn container() -> Result<Value> {
    let deployment = shipped_one("Deployment")?;
    let containers = &deployment["spec"]["template"]["spec"]["containers"];
    let [container] = containers.as_array().context("no containers")?.as_slice() else {
        bail!("not one container: {containers}");
    };
    Ok(container.clone())
}

/// The unchanged arguments, except the numbers of the ports. One argument sets each port of the
/// container.
fn arguments(container: &Value) -> Result<Vec<String>> {
    let mut all = texts(&container["args"])?;
    for port in container["ports"].as_array().context("no ports")? {
        let number = format!(":{}", port["containerPort"]);
        let at = all.iter().position(|word| word.ends_with(&number));
        let at = at.with_context(|| format!("no argument listens at the container's {port}"))?;
        all[at] = all[at].replace(&number, ":0");
    }
    Ok(all)
}

/// Name and value of each variable.
fn environment(container: &Value) -> Result<Vec<String>> {
    let all = container["env"].as_array().context("no env")?;
    let one = |one: &Value| {
        let value = match one["valueFrom"]["fieldRef"]["fieldPath"].as_str() {
            Some("metadata.namespace") => NAMESPACE,
            Some("metadata.name") => NAME,
            _ => bail!("a variable of another origin: {one}"),
        };
        Ok(format!("{}={value}", text(&one["name"])?))
    };
    all.iter().map(one).collect()
}

fn texts(list: &Value) -> Result<Vec<String>> {
    let all = list.as_array().context("not a list")?;
    all.iter().map(|one| Ok(text(one)?.to_owned())).collect()
}

fn text(value: &Value) -> Result<&str> {
    value
        .as_str()
        .with_context(|| format!("{value} is no text"))
}

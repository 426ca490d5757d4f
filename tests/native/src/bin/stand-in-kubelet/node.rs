//! Keeps this machine's Node.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::{Node, NodeCondition};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::file;

/// A new one for each boot. All namespaces of this machine share the kernel's.
const BOOT: &str = "/run/stand-in-kubelet.boot";

/// How often it reports. The controller manager waits several times as long.
const BEAT: SignedDuration = SignedDuration::from_secs(10);

/// What it says of its machine.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The host name, as for a kubelet.
    pub name: String,
    /// The first address of eth0.
    address: String,
    version: String,
    boot: String,
}

impl Facts {
    /// Reads them from this machine.
    pub fn read(version: String) -> Result<Self> {
        let name = nix::unistd::gethostname()?;
        let name = name
            .into_string()
            .ok()
            .context("the host name is no text")?;
        let address = address(&name).context("/etc/hosts does not name this host")?;
        Ok(Self {
            name,
            address,
            version,
            boot: boot()?,
        })
    }
}

fn address(name: &str) -> Result<String> {
    let hosts = fs::read_to_string("/etc/hosts")?;
    let own = hosts.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let address = words.next()?;
        words.any(|word| word == name).then(|| address.to_owned())
    });
    own.with_context(|| format!("no line with {name}"))
}

fn boot() -> Result<String> {
    if let Ok(known) = fs::read_to_string(BOOT) {
        return Ok(known);
    }
    let new = fs::read_to_string("/proc/sys/kernel/random/uuid")?;
    let new = new.trim();
    file::write(Path::new(BOOT), new)?;
    Ok(new.to_owned())
}

/// Makes the Node if it is missing, reports that it is Ready, and returns it.
pub async fn keep(client: &Client, facts: &Facts) -> Result<Node> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node = match nodes.get_opt(&facts.name).await? {
        Some(node) => node,
        None => {
            let new = serde_json::from_value(object(facts))?;
            nodes.create(&PostParams::default(), &new).await?
        }
    };
    if is_fresh(&node, facts) {
        return Ok(node);
    }
    let status = Patch::Strategic(json!({ "status": status(facts, ready_since(&node)) }));
    Ok(nodes
        .patch_status(&facts.name, &PatchParams::default(), &status)
        .await?)
}

fn ready(node: &Node) -> Option<&NodeCondition> {
    let mut conditions = node.status.as_ref()?.conditions.iter().flatten();
    conditions.find(|condition| condition.type_ == "Ready" && condition.status == "True")
}

/// Whether this boot has reported a moment ago.
fn is_fresh(node: &Node, facts: &Facts) -> bool {
    let beat = ready(node).and_then(|ready| ready.last_heartbeat_time.as_ref());
    let age = beat.map(|beat| Timestamp::now().duration_since(beat.0));
    let info = node
        .status
        .as_ref()
        .and_then(|status| status.node_info.as_ref());
    age.is_some_and(|age| age < BEAT) && info.is_some_and(|info| info.boot_id == facts.boot)
}

fn ready_since(node: &Node) -> Timestamp {
    let since = ready(node).and_then(|ready| ready.last_transition_time.as_ref());
    since.map_or_else(Timestamp::now, |since| since.0)
}

fn object(facts: &Facts) -> Value {
    json!({
        "metadata": {
            "name": facts.name,
            "labels": {
                "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": facts.name,
                "kubernetes.io/os": "linux",
            },
        },
    })
}

fn status(facts: &Facts, since: Timestamp) -> Value {
    let room = json!({"cpu": "4", "memory": "8Gi", "ephemeral-storage": "100Gi", "pods": "110"});
    json!({
        "addresses": [
            {"type": "InternalIP", "address": facts.address},
            {"type": "Hostname", "address": facts.name},
        ],
        "allocatable": room,
        "capacity": room,
        "conditions": [
            condition(since, "MemoryPressure", "False", "KubeletHasSufficientMemory"),
            condition(since, "DiskPressure", "False", "KubeletHasNoDiskPressure"),
            condition(since, "PIDPressure", "False", "KubeletHasSufficientPID"),
            condition(since, "Ready", "True", "KubeletReady"),
        ],
        "nodeInfo": {
            "architecture": "amd64",
            "bootID": facts.boot,
            "containerRuntimeVersion": "stand-in://1",
            "kernelVersion": "stand-in",
            "kubeProxyVersion": "",
            "kubeletVersion": facts.version,
            "machineID": facts.name,
            "operatingSystem": "linux",
            "osImage": "stand-in",
            "systemUUID": facts.name,
        },
    })
}

fn condition(since: Timestamp, kind: &str, status: &str, reason: &str) -> Value {
    let now = Timestamp::now();
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": "the stand-in for the kubelet says so",
        "lastHeartbeatTime": format!("{now:.0}"),
        "lastTransitionTime": format!("{since:.0}"),
    })
}

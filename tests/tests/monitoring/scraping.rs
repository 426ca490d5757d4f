//! The shipped scrape configuration in use: a real API server provides its targets, with the rights
//! that are shipped for it.

use std::net::SocketAddr;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::metrics_proxy::{Proxy, SCRAPER, install, shipped, token};
use careen_tests::node::TestNode;
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use provider::manifests::NAMESPACE;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::cluster_api::account::kubeconfig_of;
use testkit::cluster_api::{documents, objects};

use crate::prometheus::tree;

/// The token path in a pod of the scraper.
const TOKEN: &str = "/var/run/secrets/careen/token";

/// The configuration of a Prometheus of this machine, and the folder of its credentials.
pub struct Scraping {
    /// `scrape_configs`.
    pub configs: Value,
    _folder: TempDir,
}

impl Scraping {
    /// The shipped configuration with two differences, because a process on this machine lacks two
    /// things: the token that a kubelet mounts into a pod, and the API server address that a pod
    /// receives.
    pub async fn of(admin: &Client) -> Result<Self> {
        install(admin).await?;
        objects::apply_all(admin, &documents(&shipped("provider-scraper.yaml"))?).await?;
        let folder = tempfile::tempdir()?;
        let proxy = Proxy::new(admin).await?;
        let (laid, server) = (folder.path().join("token"), folder.path().join("server"));
        std::fs::write(&laid, token(admin, SCRAPER, &[proxy.audience()]).await?)?;
        let content = kubeconfig_of(plane().await?, admin, SCRAPER).await?;
        std::fs::write(&server, serde_json::to_vec(&content)?)?;
        let text = std::fs::read_to_string(shipped("scrape.yaml"))?;
        ensure!(text.contains(TOKEN), "{text}");
        let text = text.replace(TOKEN, laid.to_str().context("a path of UTF-8")?);
        let mut configs = serde_saphyr::from_str::<Value>(&text)?["scrape_configs"].take();
        for job in configs.as_array_mut().context("no jobs")? {
            let discovery = job["kubernetes_sd_configs"].as_array_mut();
            for one in discovery.context("no discovery")? {
                one["kubeconfig_file"] = json!(server);
            }
        }
        Ok(Self {
            configs,
            _folder: folder,
        })
    }
}

/// The configuration of a Prometheus without discovery: these jobs at these addresses.
pub fn told<const N: usize>(jobs: [(&str, SocketAddr); N]) -> Value {
    json!(jobs.map(|(name, address)| job(name, address)).to_vec())
}

fn job(name: &str, address: SocketAddr) -> Value {
    json!({ "job_name": name, "static_configs": [{ "targets": [address.to_string()] }] })
}

/// These jobs, and one more at an address.
pub fn with(name: &str, address: SocketAddr, mut jobs: Value) -> Value {
    let all = jobs.as_array_mut().into_iter();
    all.for_each(|all| all.push(job(name, address)));
    jobs
}

/// Sets the address that a kubelet reports for its node.
pub async fn is_reached_at(node: &TestNode, address: &str) -> Result<()> {
    let addresses = json!([{ "type": "InternalIP", "address": address }]);
    let body = Patch::Strategic(json!({ "status": { "addresses": addresses } }));
    node.nodes()
        .patch_status(&node.name, &PatchParams::default(), &body)
        .await?;
    Ok(())
}

/// Creates a pod of the shipped Deployment as the API server stores it, with its metrics at this
/// port. No kubelet here runs it.
pub async fn pod(admin: &Client, name: &str, port: u16, phase: &str) -> Result<()> {
    let release = tree().join("packaging/provider/runtime-extension-components.yaml");
    let mut all = documents(&release)?.into_iter();
    let deployment = all.find(|object| object["kind"] == "Deployment");
    let mut template = deployment.context("no Deployment")?["spec"]["template"].take();
    template["apiVersion"] = json!("v1");
    template["kind"] = json!("Pod");
    template["metadata"]["name"] = json!(name);
    template["metadata"]["namespace"] = json!(NAMESPACE);
    // The pod stays unscheduled.
    template["spec"]["schedulerName"] = json!("nobody");
    let ports = template["spec"]["containers"][0]["ports"].as_array_mut();
    let mut ports = ports.context("no ports")?.iter_mut();
    let metrics = ports.find(|one| one["name"] == "metrics");
    metrics.context("no port for metrics")?["containerPort"] = json!(port);
    objects::apply(admin, &template).await?;
    let pods: Api<Pod> = Api::namespaced(admin.clone(), NAMESPACE);
    let at = "127.0.0.1";
    let status = json!({ "status": { "phase": phase, "podIP": at, "podIPs": [{ "ip": at }] } });
    pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(status))
        .await?;
    Ok(())
}

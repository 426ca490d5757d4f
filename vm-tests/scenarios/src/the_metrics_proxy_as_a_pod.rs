//! The proxy that packaging/monitoring ships between an agent and Prometheus, run as a pod by a
//! real kubelet and containerd. It runs within its limits, with its permissions, and with the token
//! that docs/monitoring.md names. It comes back after an upgrade and serves the upgrade's metrics.

mod image;

use anyhow::Context;
use testkit::control_plane::HOST_SEEN_FROM_GUEST;
use testkit::programs;
use testkit::registry::Registry;
use tokio::process::Command;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "the-metrics-proxy-as-a-pod",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const MANIFEST: &str = "packaging/monitoring/agent-proxy.yaml";
const POLICY: &str = "[metrics]\nlisten = \"127.0.0.1:9840\"";

/// An account that the manifest allows to read, and one that it does not know.
const SCRAPER: &str = "prometheus-k8s";
const STRANGER: &str = "stranger";

const ACCOUNTS: [&[&str]; 3] = [
    &["create", "namespace", "monitoring"],
    &["-n", "monitoring", "create", "serviceaccount", SCRAPER],
    &["-n", "monitoring", "create", "serviceaccount", STRANGER],
];

const ROLLED_OUT: &[&str] = &[
    "-n",
    "careen-metrics",
    "rollout",
    "status",
    "daemonset/careen-agent-proxy",
    "--timeout",
    "10m",
];

/// Uses the node's address. Prints the status and writes the served content to a file.
const ASKED: &str =
    "curl --silent --insecure --max-time 30 --output /run/rig-served --write-out '%{http_code}' ";
const AT: &str = "\"https://$(ip -4 route get 10.0.2.2 | sed 's/.* src \\([^ ]*\\).*/\\1/;q'):9841";

async fn run(rig: &mut Rig) -> Result<()> {
    let registry = Registry::start(&rig.dir().join("registry")).await?;
    rig.guest.run(&registry.introduction()).await?;
    let image = image::pushed(rig, &registry).await?;
    rig.policy(POLICY).await?;
    lead_to_the_api_server(rig).await?;
    for account in ACCOUNTS {
        kubectl(rig, account).await?;
    }
    let applied = manifest(rig, &image)?;
    kubectl(rig, &["apply", "--filename", &applied]).await?;
    kubectl(rig, ROLLED_OUT).await?;
    expect_it_to_serve_whom_it_should_alone(rig).await?;

    let (before, good) = (rig.before().await?, rig.image("v2")?);
    rig.ask(&good).await?;
    rig.expect_upgraded(&before, &good).await?;
    lead_to_the_api_server(rig).await?;
    let token = token(rig, SCRAPER, &["--audience", "careen-agent-metrics"]).await?;
    served_at_last(rig, &token, "requests_total{outcome=\"upgraded\"").await
}

/// The shipped manifest with the pushed image.
fn manifest(rig: &Rig, image: &str) -> Result<String> {
    let shipped = std::fs::read_to_string(programs::home().join("..").join(MANIFEST))?;
    let line = shipped.lines().find(|line| line.contains(" image: "));
    let line = line.context("the manifest names no image")?;
    let file = rig.dir().join("agent-proxy.yaml");
    std::fs::write(
        &file,
        shipped.replace(line, &format!("        image: {image}")),
    )?;
    Ok(file.display().to_string())
}

async fn expect_it_to_serve_whom_it_should_alone(rig: &mut Rig) -> Result<()> {
    let meant = ["--audience", "careen-agent-metrics"];
    let (right, other) = (
        token(rig, SCRAPER, &meant).await?,
        token(rig, SCRAPER, &[]).await?,
    );
    let stranger = token(rig, STRANGER, &meant).await?;
    served_at_last(rig, &right, "phase{").await?;
    for (token, path, wanted) in [
        ("", "metrics", "401"),
        (other.as_str(), "metrics", "401"),
        (stranger.as_str(), "metrics", "403"),
        (right.as_str(), "healthz", "404"),
    ] {
        let status = asked(rig, path, token).await?;
        ensure!(
            status == wanted,
            "/{path} is answered by {status}, not {wanted}"
        );
    }
    Ok(())
}

/// Waits until an allowed reader gets this.
async fn served_at_last(rig: &mut Rig, token: &str, piece: &str) -> Result<()> {
    rig.progress.step(&format!("it passes on {piece:?}"));
    let ask = question("metrics", token);
    rig.wait_guest(&format!(
        "until [ \"$({ask})\" = 200 ] && grep -qF 'careen_agent_{piece}' /run/rig-served; do sleep 1; done"
    ))
    .await
}

async fn asked(rig: &mut Rig, path: &str, token: &str) -> Result<String> {
    rig.guest.run(&question(path, token)).await
}

fn question(path: &str, token: &str) -> String {
    let with = match token {
        "" => String::new(),
        token => format!("--header 'Authorization: Bearer {token}' "),
    };
    format!("{ASKED}{with}{AT}/{path}\"")
}

/// A token of an account for these audiences; without audiences, for the API server.
async fn token(rig: &Rig, account: &str, audiences: &[&str]) -> Result<String> {
    let create = ["-n", "monitoring", "create", "token", account];
    let token = kubectl(rig, &[&create, audiences].concat()).await?;
    Ok(token.trim().to_owned())
}

/// Does what kube-proxy does for the one Service that a proxy needs. The rig has no kube-proxy.
async fn lead_to_the_api_server(rig: &mut Rig) -> Result<()> {
    let there = format!("{HOST_SEEN_FROM_GUEST}:{}", rig.plane.api_port());
    let rule = "iptables -t nat -A OUTPUT -d 10.96.0.1 -p tcp --dport 443 -j DNAT --to-destination";
    rig.guest.run(&format!("{rule} {there}")).await.map(drop)
}

async fn kubectl(rig: &Rig, arguments: &[&str]) -> Result<String> {
    rig.progress
        .step(&format!("kubectl {}", arguments.join(" ")));
    let mut command = Command::new(rig.plane.program("kubectl"));
    command
        .arg("--kubeconfig")
        .arg(rig.plane.admin_kubeconfig());
    let output = command.args(arguments).output().await?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "kubectl: {complaint}");
    Ok(String::from_utf8(output.stdout)?)
}

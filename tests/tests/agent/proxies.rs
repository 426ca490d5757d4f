//! An API server that the agent reaches only through a proxy, and variables that would mislead an
//! agent.

use std::path::PathBuf;

use agent::cluster::{Cluster, SILENCE};
use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::TestNode;
use careen_tests::proxy::{BEHIND, Proxy, with_cluster};
use careen_tests::scene::Scene;
use serde_json::json;

const KUBECONFIG: &str = "CAREEN_TEST_KUBECONFIG";

#[tokio::test]
async fn agent_uses_the_proxy_named_in_its_kubeconfig() -> Result<()> {
    let mut scene = Scene::new("behind").await?;
    scene.kill_agent()?;
    let node = &scene.node;
    let proxy = Proxy::to(node.wire.port).await?;
    let fields = json!({
        "server": format!("https://{BEHIND}"), "tls-server-name": "localhost",
        "proxy-url": format!("http://127.0.0.1:{}", proxy.port),
    });
    with_cluster(&node.kubeconfig, fields, &node.kubeconfig)?;
    scene.start_agent()?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    let asked = proxy.asked();
    ensure!(!asked.is_empty(), "nobody asked the proxy");
    let behind = format!("CONNECT {BEHIND} ");
    ensure!(
        asked.iter().all(|head| head.starts_with(&behind)),
        "{asked:?}"
    );
    Ok(())
}

/// The address is not a loopback address, for which environment proxies never apply, but it still
/// belongs to this machine.
#[tokio::test]
async fn no_variable_takes_the_api_server_away_from_an_agent() -> Result<()> {
    let node = TestNode::new("variables").await?;
    let server = format!("https://0.0.0.0:{}", node.wire.port);
    let fields = json!({ "server": server, "tls-server-name": "localhost" });
    with_cluster(&node.kubeconfig, fields, &node.kubeconfig)?;
    for (proxy, exceptions) in [
        ("http://127.0.0.1:1", ""),
        ("ftp://pro xy", "example.org,,"),
    ] {
        let mut command = tokio::process::Command::new(std::env::current_exe()?);
        let this = "proxies::say_which_node_the_api_server_knows";
        command.args([this, "--exact", "--ignored", "--nocapture"]);
        for name in ["HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"] {
            command.env(name, proxy);
        }
        command
            .env("NO_PROXY", exceptions)
            .env("no_proxy", exceptions);
        command.env(KUBECONFIG, &node.kubeconfig).kill_on_drop(true);
        let ended = tokio::time::timeout(PATIENCE, command.output()).await;
        let output = ended.context("it does not end")??;
        let said = String::from_utf8_lossy(&output.stdout);
        ensure!(
            said.contains(&format!("\nNODE {}\n", node.name)),
            "{output:?}"
        );
    }
    Ok(())
}

#[tokio::test]
#[ignore = "another test runs it, with an environment of its own"]
async fn say_which_node_the_api_server_knows() -> Result<()> {
    let kubeconfig = PathBuf::from(std::env::var(KUBECONFIG)?);
    println!(
        "\nNODE {}",
        Cluster::new(&kubeconfig, SILENCE).node_name().await?
    );
    Ok(())
}

//! A person who needs a proxy. The command calls the API server by a name that only the proxy
//! resolves, or by an address that is not loopback's, which the environment's proxy does not reach.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::node::TestNode;
use careen_tests::proxy::{BEHIND, Proxy, with_cluster};
use kubectl::exit::Exit;
use serde_json::{Value, json};

use crate::person::run;

const KUBECONFIG: &str = "CAREEN_TEST_KUBECONFIG";
const LINE: &str = "CAREEN_TEST_LINE";
/// All variables that name a proxy or an exception.
const NAMES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "NO_PROXY",
    "no_proxy",
];

async fn kubeconfig(node: &TestNode, mut fields: Value) -> Result<PathBuf> {
    let path = node.folder.path().join("person.conf");
    fields["tls-server-name"] = json!("localhost");
    with_cluster(&plane().await?.admin_kubeconfig(), fields, &path)?;
    Ok(path)
}

async fn proxy() -> Result<Proxy> {
    Proxy::to(plane().await?.api_port()).await
}

/// Runs the command in its own process, with these variables and no others of their kind.
async fn status(kubeconfig: &Path, node: &TestNode, set: &[(&str, &str)]) -> Result<String> {
    let mut command = tokio::process::Command::new(std::env::current_exe()?);
    let this = "proxies::run_as_the_environment_says";
    command.args([this, "--exact", "--ignored", "--nocapture"]);
    for name in NAMES {
        command.env_remove(name);
    }
    command.envs(set.iter().copied()).kill_on_drop(true);
    command.env(KUBECONFIG, kubeconfig);
    command.env(LINE, format!("status {}", node.name));
    let ended = tokio::time::timeout(PATIENCE, command.output()).await;
    let Output { stdout, stderr, .. } = ended.context("it does not end")??;
    let text = String::from_utf8([stdout, stderr].concat())?;
    ensure!(text.contains("\nRAN "), "{text}");
    Ok(text)
}

#[tokio::test]
#[ignore = "the other tests run it, each with an environment of its own"]
async fn run_as_the_environment_says() -> Result<()> {
    let kubeconfig = PathBuf::from(std::env::var(KUBECONFIG)?);
    let ran = run(&kubeconfig, &std::env::var(LINE)?, None).await?;
    println!("\nRAN {:?}\n{}", ran.exit, ran.err);
    Ok(())
}

#[tokio::test]
async fn kubeconfig_proxy_is_used_with_its_credentials() -> Result<()> {
    let (node, proxy) = (TestNode::new("led").await?, proxy().await?);
    let url = format!("http://me:pa%40ss@127.0.0.1:{}", proxy.port);
    let fields = json!({ "server": format!("https://{BEHIND}"), "proxy-url": url });
    let kubeconfig = kubeconfig(&node, fields).await?;
    let line = format!("status {}", node.name);
    run(&kubeconfig, &line, None).await?.with(Exit::Done)?;
    let asked = proxy.asked();
    ensure!(!asked.is_empty(), "nobody asked the proxy");
    for head in asked {
        ensure!(head.starts_with(&format!("CONNECT {BEHIND} ")), "{head}");
        // me:pa@ss
        ensure!(head.contains("Basic bWU6cGFAc3M="), "{head}");
    }
    Ok(())
}

#[tokio::test]
async fn environment_proxy_is_used_even_if_no_proxy_names_its_address() -> Result<()> {
    let (node, proxy) = (TestNode::new("env").await?, proxy().await?);
    let fields = json!({ "server": format!("https://{BEHIND}") });
    let kubeconfig = kubeconfig(&node, fields).await?;
    let url = format!("http://127.0.0.1:{}", proxy.port);
    let set = [("HTTPS_PROXY", url.as_str()), ("NO_PROXY", "127.0.0.1,")];
    let said = status(&kubeconfig, &node, &set).await?;
    ensure!(said.contains("RAN Done"), "{said}");
    ensure!(!proxy.asked().is_empty(), "nobody asked the proxy");
    Ok(())
}

#[tokio::test]
async fn an_api_server_that_no_proxy_names_is_asked_directly() -> Result<()> {
    let node = TestNode::new("direct").await?;
    let server = format!("https://0.0.0.0:{}", plane().await?.api_port());
    let kubeconfig = kubeconfig(&node, json!({ "server": server })).await?;
    let nobody = ("https_proxy", "http://127.0.0.1:1");
    let said = status(&kubeconfig, &node, &[nobody]).await?;
    ensure!(said.contains("RAN Unreachable"), "{said}");
    let set = [nobody, ("no_proxy", "example.org,,0.0.0.0/32")];
    let said = status(&kubeconfig, &node, &set).await?;
    ensure!(said.contains("RAN Done"), "{said}");
    Ok(())
}

#[tokio::test]
async fn invalid_proxy_variable_is_named_without_its_password() -> Result<()> {
    let node = TestNode::new("noproxy").await?;
    let fields = json!({ "server": format!("https://{BEHIND}") });
    let kubeconfig = kubeconfig(&node, fields).await?;
    let set = [("HTTPS_PROXY", "ftp://me:hidden@proxy:21")];
    let said = status(&kubeconfig, &node, &set).await?;
    ensure!(said.contains("RAN Unreachable"), "{said}");
    ensure!(
        said.contains("HTTPS_PROXY is \"ftp://...@proxy:21\""),
        "{said}"
    );
    ensure!(said.contains("Use http://"), "{said}");
    ensure!(!said.contains("hidden"), "{said}");
    Ok(())
}

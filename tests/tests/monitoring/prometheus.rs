//! A real Prometheus, and promtool.

use std::fs::{self, File};
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::replica::get;
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::cluster_api::objects;
use testkit::control_plane::ports;
use testkit::programs;

/// The root of the source tree.
pub fn tree() -> PathBuf {
    programs::home().join("..")
}

/// The path of the alerts, their tests, or the dashboard.
pub fn shipped(file: &str) -> PathBuf {
    tree().join("packaging/monitoring").join(file)
}

/// The source of the programs.
#[derive(Clone, Copy, Debug)]
pub enum Of {
    /// Debian's package, which is years old and does not contain Kubernetes discovery.
    Debian,
    /// Upstream, which contains it.
    Upstream,
}

impl Of {
    /// The folder of its programs.
    fn folder(self) -> Result<PathBuf> {
        match self {
            Self::Debian => printed("debian.sh", &[]),
            Self::Upstream => built("prometheus"),
        }
    }
}

/// The folder of the programs that a folder next to this file names.
pub fn built(module: &str) -> Result<PathBuf> {
    printed("build.sh", &[module])
}

/// The folder that a script in this directory prints.
fn printed(script: &str, arguments: &[&str]) -> Result<PathBuf> {
    let mut command = Command::new(tree().join("tests/tests/monitoring").join(script));
    let output = command.args(arguments).stderr(Stdio::inherit()).output()?;
    ensure!(output.status.success(), "{script} {arguments:?} failed");
    Ok(String::from_utf8(output.stdout)?.trim().into())
}

/// Runs promtool. The error contains its output.
pub fn promtool(of: Of, arguments: &[&str], input: Option<&Path>) -> Result<()> {
    let mut command = Command::new(of.folder()?.join("promtool"));
    command.args(arguments).current_dir(shipped(""));
    if let Some(input) = input {
        command.stdin(File::open(input)?);
    }
    let Output {
        status,
        stdout,
        stderr,
    } = command.output()?;
    let words = [stdout, stderr].concat();
    ensure!(
        status.success(),
        "promtool of {of:?}, {arguments:?}: {}",
        String::from_utf8_lossy(&words)
    );
    Ok(())
}

/// An address that no other caller gets.
pub fn free() -> Result<SocketAddr> {
    let [port] = ports::free()?;
    Ok((Ipv4Addr::LOCALHOST, port).into())
}

/// A running Prometheus. A drop kills it.
pub struct Prometheus {
    address: SocketAddr,
    child: Child,
    began: u64,
    _data: TempDir,
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| since.as_secs())
}

impl Prometheus {
    /// Scrapes the targets of these `scrape_configs` every other second, with Careen's alerts in
    /// force.
    pub async fn start(of: Of, scrape_configs: &Value) -> Result<Self> {
        let data = tempfile::tempdir()?;
        let config = data.path().join("prometheus.yml");
        fs::write(&config, configuration(scrape_configs).to_string())?;
        let address = free()?;
        let log = File::create(data.path().join("log"))?;
        let child = Command::new(of.folder()?.join("prometheus"))
            .arg(format!("--config.file={}", config.display()))
            .arg(format!(
                "--storage.tsdb.path={}",
                data.path().join("data").display()
            ))
            .arg(format!("--web.listen-address={address}"))
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()?;
        let this = Self {
            address,
            child,
            began: now(),
            _data: data,
        };
        let up = || async {
            let ready = get(address, "/-/ready").await?;
            ensure!(ready.contains("200 OK"), "{ready}");
            Ok(())
        };
        objects::until("Prometheus ready", PATIENCE, up).await?;
        Ok(this)
    }

    async fn api(&self, path: &str) -> Result<Value> {
        let answer = get(self.address, &format!("/api/v1/{path}")).await?;
        let (_, body) = answer.split_once("\r\n\r\n").context("no body")?;
        let value: Value = serde_json::from_str(body).with_context(|| body.to_owned())?;
        match value["status"].as_str() {
            Some("success") => Ok(value["data"].clone()),
            _ => bail!("{}", value["error"]),
        }
    }

    /// The results of a query since the beginning: the numbers of all series.
    pub async fn numbers(&self, query: &str) -> Result<Vec<f64>> {
        let (query, start, end) = (encoded(query), self.began, now());
        let path = format!("query_range?query={query}&start={start}&end={end}&step=1");
        let data = self.api(&path).await?;
        let series = data["result"].as_array().into_iter().flatten();
        let points = series.filter_map(|one| one["values"].as_array()).flatten();
        let values = points.filter_map(|point| point[1].as_str()?.parse().ok());
        Ok(values.filter(|value: &f64| value.is_finite()).collect())
    }

    /// Waits until a query has a result.
    pub async fn until(&self, query: &str) -> Result<()> {
        let answered = || async {
            ensure!(!self.numbers(query).await?.is_empty(), "nothing yet");
            Ok(())
        };
        objects::until(query, PATIENCE, answered).await
    }

    /// The current targets.
    pub async fn targets(&self) -> Result<Vec<String>> {
        let data = self.api("targets?state=active").await?;
        let targets = data["activeTargets"].as_array().into_iter().flatten();
        let urls = targets.filter_map(|target| target["scrapeUrl"].as_str());
        Ok(urls.map(str::to_owned).collect())
    }

    /// Rules that failed, with the reason.
    pub async fn unhealthy_rules(&self) -> Result<Vec<String>> {
        let data = self.api("rules").await?;
        let groups = data["groups"].as_array().into_iter().flatten();
        let rules = groups
            .filter_map(|group| group["rules"].as_array())
            .flatten();
        let bad = rules.filter(|rule| rule["health"] != "ok");
        Ok(bad
            .map(|rule| format!("{}: {} {}", rule["name"], rule["health"], rule["lastError"]))
            .collect())
    }
}

/// JSON is YAML.
fn configuration(scrape_configs: &Value) -> Value {
    json!({
        "global": { "scrape_interval": "2s", "scrape_timeout": "2s", "evaluation_interval": "2s" },
        "rule_files": [shipped("alerts.yaml")],
        "scrape_configs": scrape_configs,
    })
}

/// Encodes text for a URL's query.
fn encoded(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => char::from(byte).to_string(),
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

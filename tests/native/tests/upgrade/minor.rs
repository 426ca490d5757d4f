//! The only member goes from Kubernetes 1.36 to 1.37, and so from etcd 3.6 to 3.7: through a refusal,
//! a power cut and a bad trial. From the raise on, nothing starts an older etcd.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::api::{Api, Patch, PatchParams};
use native::{Cluster, Counter, Images, Member, built, until};
use serde_json::{Value, json};
use testkit::programs;
use upgrade::observe::Check;

use crate::host::{Away, Host};
use crate::single::{ended, is_raised};

const ETCD: &str = "/etc/kubernetes/manifests/etcd.yaml";

#[tokio::test(flavor = "multi_thread")]
#[ignore = "it builds Kubernetes 1.37, which takes ten minutes: make etcd-minor"]
async fn etcd_never_goes_back_over_its_minor() -> Result<()> {
    let cluster = Arc::new(Cluster::start(1)?);
    let client = cluster.client().await?;
    let image = Images::lay_out(cluster.images().folder(), programs::NEXT)?;
    let image = Arc::new(image);
    let counter = Counter::start(client.clone());
    let mut host = Host::new(&cluster, 0, &image, &Arc::new(Away::default()));

    host.ask(&client, "u1").await;
    let status = ended(&host, &client, "u1", "Failed").await;
    assert_eq!(status["code"], "ControlPlaneUnfit", "{status}");
    assert!(status.to_string().contains("EtcdTooOld"), "{status}");
    bring_etcd_to_a_late_patch(&cluster, &client).await?;
    assert!(codes(&host)?.contains(&"EtcdMinor".to_owned()));

    host.set_local(|local| local.sandbox = Check::Broken("no sandbox".into()));
    host.ask(&client, "u2").await;
    raise_through_a_cut(&mut host).await?;
    host.reboot().await;
    host.reboot().await;
    let status = ended(&host, &client, "u2", "Failed").await;
    assert_eq!(
        status["controlPlane"]["raised"],
        image.version(),
        "{status}"
    );
    assert!(!host.runs_new());
    is_at_the_new_minor(&host).await?;

    host.cut_power();
    the_older_etcd_does_not_read_the_data(&cluster)?;
    assert_eq!(host.repair(), "", "nothing is left to repair");
    host.boot();
    is_at_the_new_minor(&host).await?;

    host.set_local(|local| local.sandbox = Check::Pass);
    host.ask(&client, "u3").await;
    host.reboot().await;
    ended(&host, &client, "u3", "Upgraded").await;
    let (written, gap) = counter.end().await?;
    eprintln!("{written} writes, the longest gap took {gap:?}");
    Ok(())
}

/// As the page about control planes says under `EtcdTooOld`. Without the tag the new kubeadm takes
/// its own etcd again.
async fn bring_etcd_to_a_late_patch(cluster: &Cluster, client: &Client) -> Result<()> {
    let member = &cluster.members()[0];
    let version = serving(member).await?;
    let tag = format!("{version}-0");
    cluster.images().tag_etcd(&tag)?;
    let local = format!("local:\n    imageTag: {tag}");
    configure(client, "local:", &local).await?;
    let phases = "preflight,kubelet-config,addon";
    member.run("kubeadm", &["upgrade", "node", "--skip-phases", phases])?;
    assert!(member.read(ETCD)?.contains(&format!("etcd:{tag}")));
    until("it serves", async || member.api_server_is_ready().await).await;
    configure(client, &local, "local:").await
}

/// Changes the configuration that kubeadm keeps in the cluster.
async fn configure(client: &Client, from: &str, to: &str) -> Result<()> {
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), "kube-system");
    let data = maps.get("kubeadm-config").await?.data.unwrap();
    let text = &data["ClusterConfiguration"];
    assert!(text.contains(from), "{text}");
    let patch = json!({ "data": { "ClusterConfiguration": text.replace(from, to) } });
    let by = PatchParams::default();
    maps.patch("kubeadm-config", &by, &Patch::Merge(patch))
        .await?;
    Ok(())
}

/// What a survey finds with the kubeadm of the image.
fn codes(host: &Host) -> Result<Vec<String>> {
    let program = built("careen-control", "careen-control")?;
    let kubeadm = host.image().commands().join("kubeadm");
    let arguments = [
        "survey",
        "--json",
        "--target-version",
        host.image().version(),
        "--kubeadm",
        kubeadm.to_str().context("a path that is no text")?,
    ];
    let program = program.to_str().context("a path that is no text")?;
    let output = host.member().command(program, &arguments)?.output()?;
    let found: Value = serde_json::from_slice(&output.stdout)?;
    eprintln!("{:#}", found["findings"]);
    let all = found["findings"].as_array().into_iter().flatten();
    Ok(all
        .filter_map(|one| one["code"].as_str().map(str::to_owned))
        .collect())
}

/// The power goes when the new etcd has served, and kubeadm's own way back has put the older one
/// into its place.
async fn raise_through_a_cut(host: &mut Host) -> Result<()> {
    let older = host.member().read(ETCD)?;
    until("the new API server's manifest", async || is_raised(host)).await;
    let newer = host.member().read(ETCD)?;
    assert_ne!(newer, older);
    host.member().write(ETCD, &older)?;
    host.cut_power();
    let said = host.repair();
    assert!(said.contains("etcd.yaml"), "{said}");
    host.boot();
    assert_eq!(host.member().read(ETCD)?, newer);
    Ok(())
}

/// It serves, and runs the etcd that kubeadm of the new version wants.
async fn is_at_the_new_minor(host: &Host) -> Result<()> {
    let member = host.member();
    until("it serves", async || member.api_server_is_ready().await).await;
    let version = serving(member).await?;
    assert!(version.starts_with("3.7."), "{version}");
    assert!(member.read(ETCD)?.contains("etcd:3.7."));
    assert!(is_raised(host), "the control plane only goes forward");
    Ok(())
}

/// The version of etcd that serves.
async fn serving(member: &Member) -> Result<String> {
    let status = member.etcd().await?.status().await?;
    let version = status["version"].as_str();
    Ok(version.context("etcd says no version")?.to_owned())
}

/// The reason for all of this, on a copy of the data.
fn the_older_etcd_does_not_read_the_data(cluster: &Cluster) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let copy = folder.path().join("etcd");
    let data = cluster.folder().join("cp-1/var/lib/etcd");
    let copied = Command::new("cp").arg("-a").arg(data).arg(&copy).status()?;
    assert!(copied.success());
    let here = "http://127.0.0.1:0";
    let mut etcd = Command::new("timeout");
    etcd.arg("60").arg(programs::etcd()?);
    etcd.arg("--data-dir").arg(&copy).args(["--name", "cp-1"]);
    etcd.args([
        "--listen-client-urls",
        here,
        "--advertise-client-urls",
        here,
    ]);
    let output = etcd.args(["--listen-peer-urls", here]).output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("3.7.0"), "{said}");
    Ok(())
}

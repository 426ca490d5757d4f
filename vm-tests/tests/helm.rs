//! Tests the DaemonSet's chart with Helm in a cluster, line by line as in docs/daemonset.md. There
//! is no node. The scenario a-daemonset-rolls-out-in-the-middle-of-an-upgrade tests it on one.

use anyhow::{Result, ensure};
use rig::terminal::typed_at;
use testkit::control_plane::ControlPlane;

const INSTALL: &str = "kubectl apply -f packaging/daemonset/namespace.yaml
helm -n careen install careen packaging/daemonset/chart --set nodeSelector.ostree=yes --set image=registry.example.org/one";
const UPDATE: &str = "helm -n careen upgrade careen packaging/daemonset/chart --reuse-values --set image=registry.example.org/other";
const TAKE_AWAY: &str =
    "helm -n careen upgrade careen packaging/daemonset/chart --reuse-values --set mode=uninstall";

/// What distinguishes one from another: which image, to do what, on which nodes, and on how many at
/// once.
const SHOW: &str = "kubectl -n careen get daemonset careen -o \
    jsonpath='{.spec.template.spec.containers[0].image} {.spec.template.spec.containers[0].args[0]} \
    {.spec.template.spec.nodeSelector.ostree} {.spec.updateStrategy.rollingUpdate.maxUnavailable}'";

async fn expect(plane: &ControlPlane, typed: &str, wanted: &str) -> Result<()> {
    typed_at(plane, typed).await?;
    let shown = typed_at(plane, SHOW).await?;
    let shown = shown.split_whitespace().collect::<Vec<_>>().join(" ");
    ensure!(shown == wanted, "after {typed}: {shown}, not {wanted}");
    Ok(())
}

#[tokio::test]
async fn release_installs_updates_leaves_the_nodes_and_uninstalls() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let plane = ControlPlane::start(&dir.path().join("cluster")).await?;
    expect(&plane, INSTALL, "registry.example.org/one install yes 1").await?;
    expect(&plane, UPDATE, "registry.example.org/other install yes 1").await?;
    let away = "registry.example.org/other uninstall yes 100%";
    expect(&plane, TAKE_AWAY, away).await?;

    typed_at(&plane, "helm -n careen uninstall careen").await?;
    let left = typed_at(&plane, "kubectl -n careen get daemonsets,secrets -o name").await?;
    ensure!(left.is_empty(), "it has left {left}");
    Ok(())
}

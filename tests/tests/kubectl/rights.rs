//! The shipped roles are sufficient for their commands, and no role grants the rights of another.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::TestNode;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, PostParams};
use kube::{Client, ResourceExt};
use kubectl::exit::Exit;
use serde_json::json;
use tempfile::TempDir;

use crate::person::{Ran, answer, kubeconfig_of, own_nodes, run};

const ROLES: &str = include_str!("../../../packaging/kubectl/clusterroles.yaml");

/// A user with only one of the shipped roles.
struct Somebody {
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Somebody {
    async fn with(role: &str) -> Result<Self> {
        let admin = plane().await?.client().await?;
        let user = format!("{role}-person");
        give(&admin, role, &user).await?;
        let folder = tempfile::tempdir()?;
        let kubeconfig = kubeconfig_of(&user, folder.path()).await?;
        let this = Self {
            kubeconfig,
            _folder: folder,
        };
        this.until_known().await?;
        Ok(this)
    }

    async fn runs(&self, line: &str) -> Result<Ran> {
        run(&self.kubeconfig, line, None).await
    }

    /// The server learns of new rights a moment after their creation.
    async fn until_known(&self) -> Result<()> {
        let asked = async {
            while self.runs("status").await?.exit == Exit::Forbidden {
                tokio::time::sleep(std::time::Duration::from_millis(100)).await;
            }
            Ok(())
        };
        let limit = careen_tests::cluster::PATIENCE;
        tokio::time::timeout(limit, asked)
            .await
            .context("the rights do not come")?
    }
}

/// Creates the role as it is shipped, and binds it.
async fn give(admin: &Client, role: &str, user: &str) -> Result<()> {
    let shipped = serde_saphyr::from_multiple::<ClusterRole>(ROLES)?;
    let shipped = shipped.into_iter().find(|known| known.name_any() == role);
    let roles: Api<ClusterRole> = Api::all(admin.clone());
    roles
        .create(
            &PostParams::default(),
            &shipped.context("no such role is shipped")?,
        )
        .await?;
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": { "name": user },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": role },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
    });
    let bindings: Api<ClusterRoleBinding> = Api::all(admin.clone());
    bindings
        .create(&PostParams::default(), &serde_json::from_value(binding)?)
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_viewer_sees_and_changes_nothing() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("viewed").await?;
    let viewer = Somebody::with("careen-viewer").await?;
    for command in ["status", "explain", "history"] {
        viewer
            .runs(&format!("{command} {}", node.name))
            .await?
            .with(Exit::Done)?;
    }
    for command in ["cancel", "pause", "resume"] {
        node.ask_for(NEW_IMAGE).await?;
        let exit = viewer.runs(&format!("{command} {}", node.name)).await?.exit;
        let nothing_to_do = command == "resume";
        let expected = if nothing_to_do {
            Exit::Done
        } else {
            Exit::Forbidden
        };
        ensure!(exit == expected, "{command}: {exit:?}");
    }
    let other = TestNode::new("viewed").await?;
    let line = format!("upgrade {} --image {NEW_IMAGE} --dry-run", other.name);
    let ran = viewer.runs(&line).await?.with(Exit::Forbidden)?;
    ensure!(ran.err.contains("page about kubectl careen"), "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn an_operator_does_all_but_see_pods() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("operated").await?;
    let operator = Somebody::with("careen-operator").await?;
    let name = &node.name;
    let ask = format!("--image {NEW_IMAGE} --yes");
    operator
        .runs(&format!("upgrade {name} {ask}"))
        .await?
        .with(Exit::Done)?;
    operator
        .runs(&format!("upgrade {name} {ask} --watch --timeout 1s"))
        .await?
        .with(Exit::Timeout)?;
    operator
        .runs(&format!("cancel {name}"))
        .await?
        .with(Exit::Done)?;
    node.ask_for(NEW_IMAGE).await?;
    answer(&node, "Failed", json!({ "reason": "no" })).await?;
    operator
        .runs(&format!("retry {name} --yes"))
        .await?
        .with(Exit::Done)?;
    answer(&node, "Upgraded", json!({})).await?;
    operator
        .runs(&format!("rollback {name} --yes"))
        .await?
        .with(Exit::Done)?;
    operator
        .runs(&format!("pause {name}"))
        .await?
        .with(Exit::Done)?;
    operator
        .runs(&format!("resume {name}"))
        .await?
        .with(Exit::Done)?;
    let plan = format!("plan {name} --image {NEW_IMAGE} --timeout 1s");
    let ran = operator.runs(&plan).await?.with(Exit::Timeout)?;
    ensure!(ran.err.contains("pods are not shown"), "{ran:?}");
    Ok(())
}

#[tokio::test]
async fn a_planner_sees_the_pods_too() -> Result<()> {
    let _own = own_nodes().await;
    let node = TestNode::new("planner").await?;
    let planner = Somebody::with("careen-planner").await?;
    let plan = format!("plan {} --image {NEW_IMAGE} --timeout 1s", node.name);
    let ran = planner.runs(&plan).await?.with(Exit::Timeout)?;
    ensure!(!ran.err.contains("pods are not shown"), "{ran:?}");
    Ok(())
}

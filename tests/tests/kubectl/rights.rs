//! The shipped roles are sufficient for their commands, and no role grants the rights of another.

use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::TestNode;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use kubectl::exit::Exit;
use serde_json::json;
use tempfile::TempDir;

use crate::lease::TheLock;
use crate::person::{Ran, answer, kubeconfig_of, own_nodes, run};

const ROLES: &str = include_str!("../../../packaging/kubectl/clusterroles.yaml");

/// A user with only one of the shipped roles.
struct Somebody {
    kubeconfig: PathBuf,
    _folder: TempDir,
}

impl Somebody {
    async fn with(role: &str) -> Result<Self> {
        let shipped = serde_saphyr::from_multiple::<ClusterRole>(ROLES)?;
        let shipped = shipped.into_iter().find(|known| known.name_any() == role);
        let first = match role {
            "careen-unlocker" => "unlock",
            _ => "status",
        };
        Self::of(shipped.context("no such role is shipped")?, first).await
    }

    /// A user with this role, as soon as it allows the command `first`.
    async fn of(role: ClusterRole, first: &str) -> Result<Self> {
        let admin = plane().await?.client().await?;
        let user = format!("{}-person", role.name_any());
        give(&admin, role, &user).await?;
        let folder = tempfile::tempdir()?;
        let kubeconfig = kubeconfig_of(&user, folder.path()).await?;
        let this = Self {
            kubeconfig,
            _folder: folder,
        };
        this.until_known(first).await?;
        Ok(this)
    }

    async fn runs(&self, line: &str) -> Result<Ran> {
        run(&self.kubeconfig, line, None).await
    }

    /// The server learns of new rights a moment after their creation.
    async fn until_known(&self, line: &str) -> Result<()> {
        let asked = async {
            while self.runs(line).await?.exit == Exit::Forbidden {
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

/// Makes the role, and binds it. Two tests may want the same one.
async fn give(admin: &Client, role: ClusterRole, user: &str) -> Result<()> {
    let group = "rbac.authorization.k8s.io";
    let binding = json!({
        "metadata": { "name": user },
        "roleRef": { "apiGroup": group, "kind": "ClusterRole", "name": role.name_any() },
        "subjects": [{ "apiGroup": group, "kind": "User", "name": user }],
    });
    let by = PatchParams::apply("careen-tests");
    let roles: Api<ClusterRole> = Api::all(admin.clone());
    let name = role.name_any();
    roles.patch(&name, &by, &Patch::Apply(&role)).await?;
    let bindings: Api<ClusterRoleBinding> = Api::all(admin.clone());
    let binding: ClusterRoleBinding = serde_json::from_value(binding)?;
    bindings.patch(user, &by, &Patch::Apply(&binding)).await?;
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

#[tokio::test]
async fn an_unlocker_removes_the_lock_and_a_viewer_only_sees_it() -> Result<()> {
    let _own = own_nodes().await;
    let lock = TheLock::free().await?;
    let node = TestNode::new("unlocked").await?;
    let unlocker = Somebody::with("careen-unlocker").await?;
    let viewer = Somebody::with("careen-viewer").await?;
    let holder = format!("{}/7", node.name);
    lock.give(&holder).await?;
    let seen = viewer.runs("status").await?.with(Exit::Done)?;
    ensure!(
        seen.out.contains(&format!("locked by {holder}")),
        "{seen:?}"
    );
    let ran = viewer.runs("unlock --yes").await?;
    let ran = ran.with(Exit::Forbidden)?;
    let right = "cannot delete leases.coordination.k8s.io careen-control-plane in kube-system";
    ensure!(ran.err.contains(right), "{ran:?}");
    ensure!(ran.err.contains("ClusterRole careen-unlocker"), "{ran:?}");
    assert_eq!(lock.holder().await?, Some(holder));
    unlocker.runs("unlock --yes").await?.with(Exit::Done)?;
    assert_eq!(lock.holder().await?, None);
    Ok(())
}

/// The user gets the table of nodes, without the line about the lock.
#[tokio::test]
async fn status_is_silent_about_a_lock_that_may_not_be_read() -> Result<()> {
    let _own = own_nodes().await;
    let lock = TheLock::of("cp-2/7").await?;
    let node = TestNode::new("unread").await?;
    let role = json!({
        "metadata": { "name": "nodes-alone" },
        "rules": [{ "apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list"] }],
    });
    let somebody = Somebody::of(serde_json::from_value(role)?, "status").await?;
    let ran = somebody.runs(&format!("status {}", node.name)).await?;
    let ran = ran.with(Exit::Done)?;
    ensure!(ran.out.contains(&node.name), "{ran:?}");
    ensure!(!ran.out.contains("control plane"), "{ran:?}");
    lock.remove().await
}

//! Checks whether an upgrade that did not happen left anything: on the disk, in the menu, in /etc,
//! on the Node.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use upgrade::names::{self, Kind};

use super::look::BOOT_IS_THERE;
use super::story::Before;
use super::{BOOT, Rig};
use crate::node::NAME;

/// The prefix of a line about the boot menu.
const MENU: &str = "menu ";

/// Prints one line for each thing on the disk that an upgrade changes. It prints sizes and times
/// instead of hashes: nothing writes a file without changing its time, and reading kernels takes
/// seconds under emulation. It leaves out what changes without an upgrade:
/// - times of folders, and a menu that is not in use: every cleanup may remove what an earlier one
///   left;
/// - refs below `ostree/`: libostree numbers its deployments there, and renumbers them on every
///   cleanup.
const LISTING: &str = r#"
find /boot -xdev -path '/boot/loader*' -prune -o -type f -printf '%p %s %T@\n'
echo "menu $(readlink /boot/loader)"
find /boot/loader/ -type f -printf 'menu %p %s %T@\n'
ls -d /sysroot/ostree/deploy/*/deploy/*
grep -r --exclude-dir=ostree '' /sysroot/ostree/repo/refs
find /etc -xdev -type f -printf '%p %s %T@\n'"#;

/// The state of everything that an upgrade changes.
#[derive(Debug, Clone)]
pub struct Traces {
    disk: BTreeSet<String>,
    node: Value,
}

impl Rig {
    /// Records the state of everything that an upgrade changes. Call it after the scenario's own
    /// last change.
    ///
    /// # Errors
    ///
    /// Fails when the guest or the API server does not answer.
    pub async fn traces(&mut self) -> Result<Traces> {
        let listing = format!("{BOOT_IS_THERE}; set -e\n{LISTING}");
        let disk = self.guest.run_within(&listing, BOOT).await?;
        let api: Api<Node> = Api::all(self.plane.client().await?);
        Ok(Traces {
            disk: disk.lines().map(str::to_owned).collect(),
            node: of_others(&api.get(NAME).await?)?,
        })
    }

    /// Checks that the upgrade never began: the node has not rebooted, it serves, and only the
    /// answer changed.
    ///
    /// # Errors
    ///
    /// Fails when any of these checks fails.
    pub async fn expect_untouched(&mut self, before: &Before, traces: &Traces) -> Result<()> {
        self.expect_no_reboot(before).await?;
        let now = self.traces().await?;
        now.expect_same(traces, |_| true)
    }

    /// Checks that the deployment was removed again without a reboot. Only the menu may differ:
    /// libostree rewrites it whenever a deployment is added or removed, alternating between two
    /// places.
    ///
    /// # Errors
    ///
    /// Fails when any of these checks fails.
    pub async fn expect_undone(&mut self, before: &Before, traces: &Traces) -> Result<()> {
        self.expect_no_reboot(before).await?;
        let now = self.traces().await?;
        now.expect_same(traces, |line| !line.starts_with(MENU))
    }

    async fn expect_no_reboot(&mut self, before: &Before) -> Result<()> {
        let boot = self.boot_id().await?;
        ensure!(
            boot == before.boot,
            "the node rebooted, from {} to {boot}",
            before.boot
        );
        self.expect_old_system(before).await
    }
}

impl Traces {
    fn expect_same(&self, before: &Self, counts: impl Fn(&str) -> bool) -> Result<()> {
        let changed: Vec<&str> = self
            .disk
            .symmetric_difference(&before.disk)
            .map(String::as_str)
            .filter(|line| counts(line))
            .collect();
        ensure!(
            changed.is_empty(),
            "this has come or gone: {:#?}",
            &changed[..changed.len().min(20)]
        );
        ensure!(
            self.node == before.node,
            "the Node is {:#}, no more {:#}",
            self.node,
            before.node
        );
        Ok(())
    }
}

/// What is on the Node besides the request and our answers. It leaves out the status, which is the
/// kubelet's, and the taints. Taints follow the status and the cordon, and a controller sets them
/// with a delay.
fn of_others(node: &Node) -> Result<Value> {
    let ours = |name: &str| {
        let known = |row: &&names::Name| matches!(row.kind, Kind::Annotation) && row.name == name;
        names::TABLE.iter().any(|row| known(&row))
    };
    let mut annotations = node.annotations().clone();
    annotations.retain(|name, _| !ours(name));
    let mut labels = node.labels().clone();
    // It stays until the node has settled.
    labels.remove(names::REMEDIATION_REFUSED);
    let mut spec = node.spec.clone().unwrap_or_default();
    spec.taints = None;
    Ok(json!({"labels": labels, "annotations": annotations, "spec": serde_json::to_value(spec)?}))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(lines: &[&str]) -> Traces {
        Traces {
            disk: lines.iter().map(ToString::to_string).collect(),
            node: Value::Null,
        }
    }

    #[test]
    fn what_comes_and_what_goes_is_told() {
        let (before, now) = (of(&["stays", "went"]), of(&["stays", "came"]));
        let error = now.expect_same(&before, |_| true).unwrap_err().to_string();
        assert!(
            error.contains("went") && error.contains("came") && !error.contains("stays"),
            "{error}"
        );
    }

    #[test]
    fn rewritten_menu_counts_only_when_nothing_was_deployed() {
        let (before, now) = (of(&["menu loader.0"]), of(&["menu loader.1"]));
        assert!(now.expect_same(&before, |_| true).is_err());
        assert!(
            now.expect_same(&before, |line| !line.starts_with(MENU))
                .is_ok()
        );
    }

    #[test]
    fn a_request_and_its_answer_are_no_trace_and_a_foreign_label_is() {
        let node = |metadata: Value| {
            let node = json!({"metadata": metadata, "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
            of_others(&serde_json::from_value(node).unwrap()).unwrap()
        };
        let bare = node(json!({}));
        let asked = json!({names::REQUEST: "Scheduled", names::STATUS: "{}"});
        assert_eq!(node(json!({"annotations": asked})), bare);
        assert_ne!(node(json!({"labels": {"a": "b"}})), bare);
        assert_eq!(bare["spec"], json!({}));
    }
}

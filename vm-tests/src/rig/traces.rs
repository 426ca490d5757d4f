//! Whether an upgrade that did not come about has left anything behind: on the disk, in the menu, in /etc, on the Node.

use std::collections::BTreeSet;

use anyhow::{Result, ensure};
use k8s_openapi::api::core::v1::Node;
use kube::{Api, ResourceExt};
use serde_json::{Value, json};
use upgrade::names::{self, Kind};

use super::look::BOOT_IS_THERE;
use super::{BOOT, Before, Rig};
use crate::node::NAME;

/// What marks a line about the boot menu.
const MENU: &str = "menu ";

/// One line for each thing on the disk that an upgrade changes. Sizes and times instead of hashes: nothing writes a file and leaves its
/// time as it was, and reading kernels takes seconds under emulation. Left out, because they change by themselves:
/// - folders' own times, and a menu that is not in force: every clean-up may remove what an earlier one has left;
/// - refs below `ostree/`: libostree numbers its deployments there, and numbers them anew whenever it cleans up.
const LISTING: &str = r#"
find /boot -xdev -path '/boot/loader*' -prune -o -type f -printf '%p %s %T@\n'
echo "menu $(readlink /boot/loader)"
find /boot/loader/ -type f -printf 'menu %p %s %T@\n'
ls -d /sysroot/ostree/deploy/*/deploy/*
grep -r --exclude-dir=ostree '' /sysroot/ostree/repo/refs
find /etc -xdev -type f -printf '%p %s %T@\n'"#;

/// Everything that an upgrade changes, as it was.
#[derive(Debug, Clone)]
pub struct Traces {
    disk: BTreeSet<String>,
    node: Value,
}

impl Rig {
    /// How everything is that an upgrade changes. To be taken when the scenario itself has nothing left to change.
    ///
    /// # Errors
    /// When the guest or the API server does not answer.
    pub async fn traces(&mut self) -> Result<Traces> {
        let listing = format!("{BOOT_IS_THERE}; set -e\n{LISTING}");
        let disk = self.guest.run_within(&listing, BOOT).await?;
        let api: Api<Node> = Api::all(self.plane.client().await?);
        Ok(Traces {
            disk: disk.lines().map(str::to_owned).collect(),
            node: of_others(&api.get(NAME).await?)?,
        })
    }

    /// Nothing was ever begun: the node has not rebooted, serves, and nothing has changed but the answer.
    ///
    /// # Errors
    /// When anything of this is not so.
    pub async fn expect_untouched(&mut self, before: &Before, traces: &Traces) -> Result<()> {
        self.expect_no_reboot(before).await?;
        let now = self.traces().await?;
        now.expect_same(traces, |_| true)
    }

    /// What was deployed is gone again, without a reboot. The menu alone may be another one: libostree writes it anew for every
    /// deployment that comes or goes, each time in the other one of two places.
    ///
    /// # Errors
    /// When anything of this is not so.
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

/// What stands on the Node beside the request and our answers. Its status is the kubelet's, and taints come and go with that and with a
/// cordon, by the hands of a controller that takes its time.
fn of_others(node: &Node) -> Result<Value> {
    let ours = |name: &str| {
        let known = |row: &&names::Name| matches!(row.kind, Kind::Annotation) && row.name == name;
        names::TABLE.iter().any(|row| known(&row))
    };
    let mut annotations = node.annotations().clone();
    annotations.retain(|name, _| !ours(name));
    let mut spec = node.spec.clone().unwrap_or_default();
    spec.taints = None;
    Ok(
        json!({"labels": node.labels(), "annotations": annotations, "spec": serde_json::to_value(spec)?}),
    )
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

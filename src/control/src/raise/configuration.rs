//! What kubeadm is told: the same limits when it renders and when it upgrades.

use std::time::Duration;

use serde_json::{Value, json};

use crate::manifests::Manifest;

/// The phases that are not part of a raise. The kubelet's configuration is written in the trial,
/// and addons belong to the cluster, not to this node.
const SKIPPED: [&str; 2] = ["kubelet-config", "addon"];

/// kubeadm refuses `upgrade apply` where there is no CoreDNS, also if it does not upgrade addons.
const WITHOUT_COREDNS: [&str; 2] = ["CoreDNSUnsupportedPlugins", "CoreDNSMigration"];

/// kubeadm starts a Job and gives it 15 s (kubernetes, cmd/kubeadm/app/phases/upgrade/health.go),
/// which a slow machine does not keep, however well it is. It is still tried, and told in the log.
/// The survey and the trial look at what it looks at.
const TOO_SHORT: &str = "CreateJob";

/// What decides the configuration of an upgrade.
#[derive(Debug)]
pub(super) struct Upgrade<'a> {
    pub version: &'a str,
    pub etcd: bool,
    pub has_coredns: bool,
    pub ignore: &'a [String],
    pub skip: &'a [String],
    pub patches: Option<&'a str>,
    pub timeouts: &'a Value,
}

/// kubeadm's limits. The startup probes in the manifests are made from the first one, which no
/// object of the cluster keeps: it is read back from the live manifest, so that no manifest changes
/// for it alone.
pub(super) fn timeouts(server: &Manifest, pod: Duration) -> Value {
    let seconds = |time: u64| format!("{time}s");
    let mut timeouts = json!({ "upgradeManifests": seconds(pod.as_secs()) });
    if let Some(startup) = startup(server) {
        timeouts["controlPlaneComponentHealthCheck"] = seconds(startup).into();
    }
    timeouts
}

/// How long the startup probe of a manifest gives its pod, in seconds.
fn startup(server: &Manifest) -> Option<u64> {
    let containers = &server.pod.spec.as_ref()?.containers;
    let probe = containers.first()?.startup_probe.as_ref()?;
    let (tries, period) = (probe.failure_threshold?, probe.period_seconds?);
    u64::try_from(i64::from(tries) * i64::from(period)).ok()
}

/// The file for `kubeadm upgrade apply` and `kubeadm upgrade node`. JSON is YAML.
pub(super) fn upgrade(wanted: &Upgrade<'_>) -> String {
    let mut ignore: Vec<&str> = wanted.ignore.iter().map(String::as_str).collect();
    // With "all", kubeadm takes no other name beside it.
    let is_all = ignore.iter().any(|name| name.eq_ignore_ascii_case("all"));
    if !is_all {
        ignore.retain(|name| *name != TOO_SHORT);
        ignore.push(TOO_SHORT);
        ignore.extend(WITHOUT_COREDNS.iter().filter(|_| !wanted.has_coredns));
    }
    let skip = SKIPPED
        .into_iter()
        .chain(wanted.skip.iter().map(String::as_str));
    let mut node = json!({
        "certificateRenewal": true,
        "etcdUpgrade": wanted.etcd,
        "ignorePreflightErrors": ignore,
        "skipPhases": skip.collect::<Vec<_>>(),
    });
    if let Some(patches) = wanted.patches {
        node["patches"] = json!({ "directory": patches });
    }
    let mut apply = node.clone();
    apply["kubernetesVersion"] = wanted.version.into();
    // Versions are compared by us, also to a version that a cut run has reached in part.
    apply["forceUpgrade"] = true.into();
    let all = json!({
        "apiVersion": "kubeadm.k8s.io/v1beta4",
        "kind": "UpgradeConfiguration",
        "apply": apply,
        "node": node,
        "timeouts": wanted.timeouts,
    });
    format!("{all:#}\n")
}

#[cfg(test)]
mod tests {
    use upgrade::control_plane::Component;

    use super::*;
    use crate::manifests;

    #[test]
    fn the_startup_probe_of_the_live_manifest_stays() {
        let of = |probe: &str| {
            let text = format!("spec:\n  containers:\n  - name: kube-apiserver\n{probe}");
            let server = manifests::parse(&text, Component::ApiServer).unwrap();
            timeouts(&server, Duration::from_secs(300))
        };
        let found = of("    startupProbe: {failureThreshold: 60, periodSeconds: 10}\n");
        let expected =
            json!({ "upgradeManifests": "300s", "controlPlaneComponentHealthCheck": "600s" });
        assert_eq!(found, expected);
        assert_eq!(of(""), json!({ "upgradeManifests": "300s" }));
    }

    #[test]
    fn without_coredns_kubeadms_checks_of_it_do_not_count() {
        let of = |has_coredns, ignore: &str| {
            let text = upgrade(&Upgrade {
                version: "v1.36.4",
                etcd: false,
                has_coredns,
                ignore: &[ignore.to_owned()],
                skip: &["bootstrap-token".to_owned()],
                patches: None,
                timeouts: &json!({}),
            });
            serde_json::from_str::<Value>(&text).unwrap()
        };
        let (with, without) = (of(true, "CreateJob"), of(false, "CreateJob"));
        assert_eq!(with["node"]["ignorePreflightErrors"], json!(["CreateJob"]));
        let all = json!(["CreateJob", WITHOUT_COREDNS[0], WITHOUT_COREDNS[1]]);
        assert_eq!(without["apply"]["ignorePreflightErrors"], all);
        let swap = of(true, "Swap");
        let both = json!(["Swap", TOO_SHORT]);
        assert_eq!(swap["node"]["ignorePreflightErrors"], both);
        let all = of(false, "all");
        assert_eq!(all["apply"]["ignorePreflightErrors"], json!(["all"]));
        assert_eq!(with["apply"]["kubernetesVersion"], "v1.36.4");
        for verb in ["apply", "node"] {
            assert_eq!(with[verb]["etcdUpgrade"], false);
            let all = json!([SKIPPED[0], SKIPPED[1], "bootstrap-token"]);
            assert_eq!(with[verb]["skipPhases"], all);
        }
    }
}

//! What the new kubeadm would write, and what it has to do.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use k8s_openapi::api::core::v1::Pod;
use serde_json::Value;
use upgrade::control_plane::raise::{EtcdFacts, Phase, may_change_etcd};
use upgrade::control_plane::{Component, Kind};

use super::node::{Node, of_etcd};
use super::order::{Failed, In, RaiseOrder, is_same};
use crate::drift::compare;
use crate::kubeadm::{self, Kubeadm, Wanted};
use crate::manifests::Manifest;
use crate::rendered::{RENDERED, at, tag};

/// The manifests that the new kubeadm renders.
#[derive(Debug)]
pub(super) struct Expected {
    pub texts: BTreeMap<Component, String>,
    differs: BTreeMap<Component, bool>,
    etcd: Option<Pod>,
}

impl Expected {
    /// Renders them, offline and into a folder that only root may write.
    pub async fn render(order: &RaiseOrder, node: &Node, timeouts: &Value) -> Result<Self, Failed> {
        let into = tempfile::Builder::new()
            .prefix("careen-control-")
            .tempdir_in(RENDERED)
            .during(Phase::Render)?;
        let kubeadm = Kubeadm::At(&order.kubeadm);
        is_of(
            order,
            &kubeadm::version(kubeadm).await.during(Phase::Render)?,
        )
        .during(Phase::Render)?;
        let wanted = Wanted {
            cluster: &at(&node.cluster.configuration.text, &order.to).during(Phase::Render)?,
            node: &node.name,
            address: node.flag("--advertise-address"),
            port: node.flag("--secure-port"),
            etcd: node.stacked,
            proxies: node.server().map(Manifest::proxies).unwrap_or_default(),
            timeouts: Some(timeouts.clone()),
            patches: order.patches.clone(),
        };
        let rendered = kubeadm::render(kubeadm, &wanted, into.path()).await;
        rendered.during(Phase::Render)?;
        Self::read(node, into.path()).during(Phase::Render)
    }

    fn read(node: &Node, folder: &Path) -> Result<Self, String> {
        let mut this = Self {
            texts: BTreeMap::new(),
            differs: BTreeMap::new(),
            etcd: None,
        };
        let kind = match node.stacked {
            true => Kind::Stacked,
            false => Kind::External,
        };
        for (component, live) in node.manifests.of_kubeadm(kind) {
            let path = folder.join(format!("{component}.yaml"));
            let text = fs::read_to_string(&path);
            let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
            let pod: Pod = serde_saphyr::from_str(&text)
                .map_err(|_| format!("kubeadm's {component}.yaml cannot be read"))?;
            let difference = compare(*component, &live.pod, &pod);
            this.differs.insert(*component, difference.rewritten);
            this.texts.insert(*component, text);
            if *component == Component::Etcd {
                this.etcd = Some(pod);
            }
        }
        Ok(this)
    }

    /// Whether kubeadm would write any manifest in another way.
    pub fn differs(&self) -> bool {
        self.differs.values().any(|differs| *differs)
    }

    /// Whether kubeadm may change etcd.
    pub fn may_change_etcd(&self, order: &RaiseOrder, node: &Node) -> bool {
        let (live, wanted) = (node.etcd(), self.etcd.as_ref().and_then(tag));
        let (Some(live), Some(wanted)) = (live, wanted) else {
            return false;
        };
        let differs = |component| self.differs.get(&component).copied().unwrap_or(false);
        may_change_etcd(&EtcdFacts {
            live: &live,
            wanted: &wanted,
            differs: differs(Component::Etcd),
            server_differs: differs(Component::ApiServer),
            certificates: &of_etcd(order),
            now: order.now,
        })
    }
}

/// Another kubeadm writes another version, or refuses.
fn is_of(order: &RaiseOrder, said: &str) -> Result<(), String> {
    let (path, to) = (order.kubeadm.display(), &order.to);
    match is_same(said, to) {
        true => Ok(()),
        false => Err(format!("{path} is {said:?}; expected {to}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Cluster;
    use crate::manifests::{Manifests, parse};

    const POD: &str =
        "apiVersion: v1\nkind: Pod\nmetadata: {}\nspec: {containers: [{name: NAME}]}\n";

    fn node(stacked: bool) -> Node {
        let manifest = |component: Component| {
            let text = POD.replace("NAME", component.name());
            (component, parse(&text, component).unwrap())
        };
        Node {
            name: "cp-1".to_owned(),
            manifests: Manifests {
                all: Component::ALL.into_iter().map(manifest).collect(),
                ..Manifests::default()
            },
            versions: Vec::new(),
            cluster: Cluster::default(),
            cluster_version: "v1.36.3".parse().unwrap(),
            stacked,
            has_coredns: false,
            instead: None,
        }
    }

    #[test]
    fn static_pod_of_an_external_etcd_is_not_kubeadms() {
        let folder = tempfile::tempdir().unwrap();
        for component in Component::KUBERNETES {
            let text = POD.replace("NAME", component.name());
            fs::write(folder.path().join(format!("{component}.yaml")), text).unwrap();
        }
        let external = Expected::read(&node(false), folder.path()).unwrap();
        let expected: Vec<_> = external.texts.into_keys().collect();
        assert!(!expected.contains(&Component::Etcd) && expected.len() == 3);
        let why = Expected::read(&node(true), folder.path()).unwrap_err();
        assert!(why.contains("etcd.yaml"), "{why}");
    }
}

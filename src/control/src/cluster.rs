//! The configuration of a cluster that kubeadm keeps in the ConfigMap kubeadm-config.

use serde::Deserialize;
use upgrade::Version;
use upgrade::control_plane::EtcdTag;

use crate::manifests::Manifest;

/// What a survey needs of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Configuration {
    /// The whole text, for kubeadm.
    pub text: String,
    /// The version of the cluster.
    pub version: Option<Version>,
    /// The tag of etcd's image, where it is not kubeadm's own choice.
    pub etcd_tag: Option<EtcdTag>,
    /// An etcd that is not of kubeadm's.
    pub external: Option<External>,
}

/// How to reach an external etcd.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct External {
    /// Its client URLs.
    pub endpoints: Vec<String>,
    /// The authority of its servers.
    pub ca_file: String,
    /// The certificate of the API server as its client.
    pub cert_file: String,
    /// The key for it.
    pub key_file: String,
}

impl External {
    /// What the API server of this node is started with, for as long as nobody else answers.
    pub fn of(server: &Manifest) -> Option<Self> {
        let flag = |name| server.flag(name).unwrap_or_default().to_owned();
        let endpoints = flag("--etcd-servers");
        let endpoints: Vec<_> = endpoints.split(',').filter(|one| !one.is_empty()).collect();
        (!endpoints.is_empty()).then(|| Self {
            endpoints: endpoints.into_iter().map(str::to_owned).collect(),
            ca_file: flag("--etcd-cafile"),
            cert_file: flag("--etcd-certfile"),
            key_file: flag("--etcd-keyfile"),
        })
    }
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Written {
    kubernetes_version: String,
    etcd: Etcd,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Etcd {
    local: Option<Local>,
    external: Option<External>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Local {
    image_tag: String,
}

impl Configuration {
    /// Reads the text of `ClusterConfiguration`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let read: Written = serde_saphyr::from_str(text)
            .map_err(|_| "it is not a ClusterConfiguration".to_owned())?;
        let version: Version = read
            .kubernetes_version
            .parse()
            .map_err(|error| format!("{error}"))?;
        let tag = read.etcd.local.map(|local| local.image_tag);
        Ok(Self {
            text: text.to_owned(),
            version: Some(version),
            etcd_tag: tag.and_then(|tag| tag.parse().ok()),
            external: read.etcd.external.filter(|etcd| !etcd.endpoints.is_empty()),
        })
    }
}

#[cfg(test)]
mod tests {
    use upgrade::control_plane::Component;

    use super::*;
    use crate::manifests;

    #[test]
    fn the_configuration_of_kubeadm_says_version_and_etcd() {
        let text = "
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: v1.35.4
apiServer: {}
etcd:
  local: {dataDir: /var/lib/etcd, imageTag: 3.6.14-0}
networking: {podSubnet: 10.244.0.0/16}
";
        let read = Configuration::parse(text).unwrap();
        assert_eq!(read.version.unwrap().to_string(), "v1.35.4");
        assert_eq!(read.etcd_tag.unwrap().to_string(), "3.6.14-0");
        assert_eq!(read.external, None);
    }

    #[test]
    fn an_external_etcd_is_found() {
        let text = "
kubernetesVersion: v1.35.4
etcd:
  external:
    endpoints: [https://10.0.0.9:2379]
    caFile: /etc/etcd/ca.crt
    certFile: /etc/etcd/client.crt
    keyFile: /etc/etcd/client.key
";
        let external = Configuration::parse(text).unwrap().external.unwrap();
        assert_eq!(external.endpoints, ["https://10.0.0.9:2379"]);
        assert_eq!(external.key_file, "/etc/etcd/client.key");
    }

    #[test]
    fn the_manifest_of_the_api_server_names_an_external_etcd_too() {
        let parse = |flags: &str| {
            let text =
                format!("spec: {{containers: [{{name: kube-apiserver, command: [{flags}]}}]}}");
            External::of(&manifests::parse(&text, Component::ApiServer).unwrap())
        };
        let flags = "kube-apiserver, '--etcd-servers=https://10.0.0.9:2379,https://10.0.0.8:2379', \
            --etcd-cafile=/etc/etcd/ca.crt";
        let external = parse(flags).unwrap();
        let endpoints = ["https://10.0.0.9:2379", "https://10.0.0.8:2379"];
        assert_eq!(external.endpoints, endpoints);
        assert_eq!(external.ca_file, "/etc/etcd/ca.crt");
        assert_eq!(parse("kube-apiserver"), None);
    }

    #[test]
    fn what_is_no_configuration_is_refused() {
        for text in ["", "[", "kubernetesVersion: 1.35", "etcd: 5", "- secret: x"] {
            let why = Configuration::parse(text).unwrap_err();
            assert!(!why.contains("secret"), "{why}");
        }
    }
}

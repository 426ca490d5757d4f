//! The manifests of the static pods.

use std::collections::BTreeMap;
use std::fs;

use k8s_openapi::api::core::v1::Pod;
use upgrade::Version;
use upgrade::control_plane::{Component, EtcdTag, Kind, Name};

use crate::folder::Folder;
use crate::kubeadm::is_proxy;

/// The folder that the kubelet runs.
pub(crate) const MANIFESTS: &str = "/etc/kubernetes/manifests";

/// One manifest: what runs, and how.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Manifest {
    /// All of it.
    pub pod: Pod,
    /// The tag of its image.
    pub tag: String,
    /// Its flags with their values, in the order of the manifest.
    pub flags: Vec<(String, String)>,
}

/// The manifests of a node.
#[derive(Debug, Default)]
pub(crate) struct Manifests {
    /// Those that could be read.
    pub all: BTreeMap<Component, Manifest>,
    /// Why others could not.
    pub unread: Vec<String>,
    /// Other files that the kubelet runs.
    pub others: Vec<Name>,
}

impl Manifests {
    /// Reads them all. A node without an etcd of its own has no manifest for it.
    pub fn read(folder: &Folder) -> Self {
        let mut found = Self {
            others: others(folder),
            ..Self::default()
        };
        for component in Component::ALL {
            match read(folder, component) {
                Ok(Some(manifest)) => {
                    found.all.insert(component, manifest);
                }
                Ok(None) if component == Component::Etcd => {}
                Ok(None) => found
                    .unread
                    .push(format!("{} does not exist", path(component))),
                Err(why) => found.unread.push(why),
            }
        }
        found
    }

    /// Those that kubeadm writes. The member of an external etcd may be a static pod too.
    pub fn of_kubeadm(&self, kind: Kind) -> impl Iterator<Item = (&Component, &Manifest)> {
        let is_written = move |component: &Component| match kind {
            Kind::Stacked => true,
            Kind::External => *component != Component::Etcd,
        };
        let all = self.all.iter();
        all.filter(move |(component, _)| is_written(component))
    }

    /// The versions of those that have Kubernetes' own, and why others have none.
    pub fn versions(&self) -> (BTreeMap<Component, Version>, Vec<String>) {
        let (mut versions, mut unread) = (BTreeMap::new(), Vec::new());
        for component in Component::KUBERNETES {
            let Some(manifest) = self.all.get(&component) else {
                continue;
            };
            match manifest.tag.parse() {
                Ok(version) => {
                    versions.insert(component, version);
                }
                Err(error) => unread.push(format!("{}: {error}", path(component))),
            }
        }
        (versions, unread)
    }

    /// The tag of etcd's image.
    pub fn etcd_tag(&self) -> Option<EtcdTag> {
        self.all.get(&Component::Etcd)?.tag.parse().ok()
    }
}

impl Manifest {
    /// The value of a flag. The last one counts, as for the programs themselves.
    pub fn flag(&self, name: &str) -> Option<&str> {
        let mut found = self.flags.iter().rev();
        let found = found.find(|(flag, _)| flag == name);
        found.map(|(_, value)| value.as_str())
    }
}

impl Manifest {
    /// The variables of its containers that name a proxy.
    pub fn proxies(&self) -> Vec<(String, String)> {
        let spec = self.pod.spec.as_ref();
        let containers = spec.into_iter().flat_map(|spec| &spec.containers);
        let variables = containers.flat_map(|one| one.env.iter().flatten());
        let proxies = variables.filter(|one| is_proxy(&one.name));
        proxies
            .filter_map(|one| Some((one.name.clone(), one.value.clone()?)))
            .collect()
    }
}

/// The path of a manifest.
pub(crate) fn path(component: Component) -> String {
    format!("{MANIFESTS}/{component}.yaml")
}

fn read(folder: &Folder, component: Component) -> Result<Option<Manifest>, String> {
    let path = path(component);
    match folder.read(&path) {
        Ok(text) => parse(&text, component)
            .map(Some)
            .map_err(|why| format!("{path}: {why}")),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(Folder::why(&path, &error)),
    }
}

/// Reads one manifest. kubeadm names the container as the component.
pub(crate) fn parse(text: &str, component: Component) -> Result<Manifest, String> {
    if text.trim().is_empty() {
        return Err("it is empty".to_owned());
    }
    // The message of the parser may repeat the text, and a flag may be a secret.
    let pod: Pod = serde_saphyr::from_str(text).map_err(|_| "it is not a pod".to_owned())?;
    let containers = pod.spec.as_ref().map(|spec| spec.containers.as_slice());
    let mut containers = containers.unwrap_or_default().iter();
    let container = containers.find(|one| one.name == component.name());
    let container = container.ok_or_else(|| format!("it has no container {component}"))?;
    let words = container.command.iter().chain(&container.args).flatten();
    Ok(Manifest {
        tag: tag(container.image.as_deref().unwrap_or_default()).to_owned(),
        flags: words.filter_map(|word| flag(word)).collect(),
        pod,
    })
}

/// The tag of an image, which may have a digest after it and a port before it.
pub(crate) fn tag(image: &str) -> &str {
    let name = image.split('@').next().unwrap_or_default();
    let last = name.rsplit('/').next().unwrap_or_default();
    last.split_once(':').map_or("", |(_, tag)| tag)
}

fn flag(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=').unwrap_or((word, ""));
    name.starts_with("--")
        .then(|| (name.to_owned(), value.to_owned()))
}

/// The kubelet runs each file whose name does not begin with a dot, and no folder.
fn others(folder: &Folder) -> Vec<Name> {
    let known = |name: &str| {
        let component = name.strip_suffix(".yaml").and_then(Component::named);
        component.is_some() || name.starts_with('.')
    };
    let entries = fs::read_dir(folder.path(MANIFESTS)).into_iter().flatten();
    let files = entries.flatten().filter(|entry| entry.path().is_file());
    let names = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut others: Vec<Name> = names.filter(|name| !known(name)).map(Name::from).collect();
    others.sort();
    others
}

#[cfg(test)]
mod tests {
    use super::*;

    const ETCD: &str = "
apiVersion: v1
kind: Pod
metadata:
  name: etcd
spec:
  containers:
  - command:
    - etcd
    - --name=cp-1
    - --listen-client-urls=https://127.0.0.1:2379,https://10.0.2.15:2379
    - --name=cp-2
    image: registry.k8s.io/etcd:3.6.8-0
    name: etcd
    resources: {requests: {cpu: 100m}}
  hostNetwork: true
status: {}
";

    #[test]
    fn a_manifest_of_kubeadm_says_tag_and_flags() {
        let manifest = parse(ETCD, Component::Etcd).unwrap();
        assert_eq!(manifest.tag, "3.6.8-0");
        assert_eq!(manifest.flag("--name"), Some("cp-2"), "the last one counts");
        assert_eq!(manifest.flag("--data-dir"), None);
    }

    #[test]
    fn a_torn_manifest_is_told_without_its_text() {
        for (text, why) in [
            ("", "it is empty"),
            ("\n", "it is empty"),
            ("spec: [--secret=x", "it is not a pod"),
            (
                "apiVersion: v1\nkind: Pod\nmetadata: {}",
                "it has no container etcd",
            ),
            ("- --secret=x", "it is not a pod"),
        ] {
            assert_eq!(
                parse(text, Component::Etcd),
                Err(why.to_owned()),
                "{text:?}"
            );
        }
    }

    #[test]
    fn a_tag_is_found_beside_ports_and_digests() {
        for (image, expected) in [
            ("registry.k8s.io/etcd:3.6.8-0", "3.6.8-0"),
            ("localhost:5000/etcd:3.6.8-0", "3.6.8-0"),
            ("localhost:5000/etcd", ""),
            ("etcd:3.6.8-0@sha256:ab", "3.6.8-0"),
            ("etcd@sha256:ab", ""),
        ] {
            assert_eq!(tag(image), expected, "{image}");
        }
    }

    #[test]
    fn a_node_of_kubeadm_is_read_whole() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        fs::create_dir_all(folder.path(MANIFESTS).join("sub")).unwrap();
        let write = |name: &str, text: &str| {
            fs::write(folder.path(MANIFESTS).join(name), text).unwrap();
        };
        write("etcd.yaml", ETCD);
        write("etcd.yaml.bak", ETCD);
        write(".hidden", "x");
        let server = ETCD.replace("name: etcd", "name: kube-apiserver");
        write("kube-apiserver.yaml", &server.replace("3.6.8-0", "v1.35.4"));
        write("kube-scheduler.yaml", "");
        let found = Manifests::read(&folder);
        assert_eq!(found.etcd_tag().unwrap().to_string(), "3.6.8-0");
        assert_eq!(found.others, [Name::from("etcd.yaml.bak")]);
        let (versions, unread) = found.versions();
        assert_eq!(versions[&Component::ApiServer].to_string(), "v1.35.4");
        assert_eq!((versions.len(), unread.len()), (1, 0));
        assert!(found.unread[0].contains("kube-controller-manager.yaml does not exist"));
        assert!(found.unread[1].contains("kube-scheduler.yaml: it is empty"));
    }
}

//! The files of a control-plane node, as kubeadm leaves them.

use std::fs;
use std::path::Path;

use control::Folder;
use tempfile::TempDir;

use super::certificates::Authority;
use super::cluster::Cluster;

/// A node's root.
pub struct Root(TempDir);

impl Root {
    pub fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn folder(&self) -> Folder {
        Folder::below(self.path())
    }

    pub fn put(&self, path: &str, text: &str) {
        let path = self.folder().path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// The manifests of Kubernetes' own pods.
    pub fn pods(&self, version: &str) {
        for name in [
            "kube-apiserver",
            "kube-controller-manager",
            "kube-scheduler",
        ] {
            let image = format!("registry.k8s.io/{name}:{version}");
            self.manifest(name, &image, &[]);
        }
    }

    pub fn manifest(&self, name: &str, image: &str, flags: &[String]) {
        let path = format!("/etc/kubernetes/manifests/{name}.yaml");
        self.put(&path, &component(name, image, flags));
    }

    /// The member of a cluster, with kubeadm's credential for it. Its authority is where kubeadm
    /// has it.
    pub fn member(&self, cluster: &Cluster, at: usize) {
        let pki = "/etc/kubernetes/pki/etcd";
        let flags = cluster.arguments(at).iter();
        let is_ours = |flag: &&String| !flag.starts_with("--trusted-ca-file");
        let mut flags: Vec<_> = flags.filter(is_ours).cloned().collect();
        flags.push(format!("--trusted-ca-file={pki}/ca.crt"));
        self.manifest("etcd", "registry.k8s.io/etcd:3.6.6-0", &flags);
        self.put(&format!("{pki}/ca.crt"), &cluster.authority.certificate);
        self.put(&format!("{pki}/ca.key"), &cluster.authority.key);
        let client = format!("{pki}/healthcheck-client");
        self.pair(&cluster.authority, &client);
    }

    pub fn pair(&self, authority: &Authority, path: &str) {
        let pair = authority.sign("kube-etcd-healthcheck-client");
        self.put(&format!("{path}.crt"), &pair.certificate);
        self.put(&format!("{path}.key"), &pair.key);
    }
}

/// A manifest as kubeadm writes it.
pub fn component(name: &str, image: &str, flags: &[String]) -> String {
    let mut text = format!(
        "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, namespace: kube-system}}\nspec:\n  containers:\n  - name: {name}\n    image: {image}\n    command:\n    - {name}\n"
    );
    for flag in flags {
        text.push_str(&format!("    - {flag}\n"));
    }
    text + "  hostNetwork: true\nstatus: {}\n"
}

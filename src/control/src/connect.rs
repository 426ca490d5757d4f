//! A client of the API server, with a kubeconfig of this node.

use std::time::Duration;

use client::chain;
use client::kubeconfig::{self, Variables};
use hyper::Uri;
use kube::Client;
use kube::config::Kubeconfig;
use upgrade::control_plane::Component;

use crate::folder::Folder;
use crate::manifests::{Manifest, Manifests};

/// The credential of the administrator.
pub(crate) const ADMIN: &str = "/etc/kubernetes/admin.conf";

/// The credential of this node, which the agent has too.
pub(crate) const KUBELET: &str = "/etc/kubernetes/kubelet.conf";

/// The namespace of kubeadm's own objects.
pub(crate) const NAMESPACE: &str = "kube-system";

/// How long the API server has for all answers together.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// A client with this credential. The error says nothing of its content.
pub(crate) fn connect(folder: &Folder, path: &str) -> Result<Client, String> {
    connect_to(folder, path, None)
}

/// The address of the API server of this node, by its manifest.
pub(crate) fn own(server: &Manifest) -> Result<Uri, String> {
    let host = server.flag("--advertise-address").unwrap_or("127.0.0.1");
    let port = server.flag("--secure-port").unwrap_or("6443");
    let address = match host.contains(':') {
        true => format!("https://[{host}]:{port}"),
        false => format!("https://{host}:{port}"),
    };
    address
        .parse()
        .map_err(|error| format!("{address}: {error}"))
}

/// The same, read from the node's files; `None` if its manifest does not say it.
pub(crate) fn own_server(folder: &Folder) -> Option<Uri> {
    let read = Manifests::read(folder);
    own(read.all.get(&Component::ApiServer)?).ok()
}

/// A client of another server than the one that the file names.
pub(crate) fn connect_to(
    folder: &Folder,
    path: &str,
    server: Option<Uri>,
) -> Result<Client, String> {
    let text = folder.read(path);
    let text = text.map_err(|error| Folder::why(path, &error))?;
    // The message of the parser may repeat the text.
    let content = Kubeconfig::from_yaml(&text);
    let content = content.map_err(|_| format!("{path} is not a kubeconfig"))?;
    let config = kubeconfig::config(content, None, &Variables::default());
    let mut config = config.map_err(|error| format!("{path}: {}", chain(&error)))?;
    if let Some(server) = server {
        config.cluster_url = server;
    }
    config.connect_timeout = Some(PATIENCE);
    config.read_timeout = Some(PATIENCE);
    Client::try_from(config).map_err(|error| format!("{path}: {}", chain(&error)))
}

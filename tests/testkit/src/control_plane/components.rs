//! The command lines of the four programs.

use super::folder::{Folder, HOST_SEEN_FROM_GUEST};

/// A single member without fsync. Durability is not worth the time on a VM's disk.
pub fn etcd(folder: &Folder) -> Vec<String> {
    let client = format!("http://127.0.0.1:{}", folder.ports.etcd);
    let peer = format!("http://127.0.0.1:{}", folder.ports.etcd_peer);
    vec![
        format!("--data-dir={}", folder.dir.join("etcd").display()),
        format!("--listen-client-urls={client}"),
        format!("--advertise-client-urls={client}"),
        format!("--listen-peer-urls={peer}"),
        format!("--initial-advertise-peer-urls={peer}"),
        format!("--initial-cluster=default={peer}"),
        "--unsafe-no-fsync=true".into(),
        "--log-level=warn".into(),
    ]
}

/// As in kubeadm's manifest, but on loopback, and without its own endpoint in the cluster.
pub fn api_server(folder: &Folder) -> Vec<String> {
    let pki = folder.dir.join("pki");
    let pki = pki.display();
    vec![
        format!("--advertise-address={HOST_SEEN_FROM_GUEST}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={}", folder.ports.api),
        format!("--etcd-servers=http://127.0.0.1:{}", folder.ports.etcd),
        "--endpoint-reconciler-type=none".into(),
        "--authorization-mode=Node,RBAC".into(),
        "--enable-admission-plugins=NodeRestriction".into(),
        "--enable-bootstrap-token-auth=true".into(),
        "--allow-privileged=true".into(),
        "--service-cluster-ip-range=10.96.0.0/12".into(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
        format!("--service-account-key-file={pki}/sa.pub"),
        format!("--service-account-signing-key-file={pki}/sa.key"),
        format!("--client-ca-file={pki}/ca.crt"),
        format!("--tls-cert-file={pki}/apiserver.crt"),
        format!("--tls-private-key-file={pki}/apiserver.key"),
        format!("--kubelet-client-certificate={pki}/apiserver-kubelet-client.crt"),
        format!("--kubelet-client-key={pki}/apiserver-kubelet-client.key"),
        format!("--proxy-client-cert-file={pki}/front-proxy-client.crt"),
        format!("--proxy-client-key-file={pki}/front-proxy-client.key"),
        format!("--requestheader-client-ca-file={pki}/front-proxy-ca.crt"),
        "--requestheader-allowed-names=front-proxy-client".into(),
        "--requestheader-username-headers=X-Remote-User".into(),
        "--requestheader-group-headers=X-Remote-Group".into(),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
    ]
}

/// With the two controllers that `kubeadm join` needs and that are off by default. A patient one
/// waits longer for a silent node.
pub fn controller_manager(folder: &Folder, is_patient: bool) -> Vec<String> {
    let pki = folder.dir.join("pki");
    let pki = pki.display();
    let mut arguments = secured(folder, "controller-manager", folder.ports.controllers);
    arguments.extend([
        "--controllers=*,bootstrapsigner,tokencleaner".into(),
        "--use-service-account-credentials=true".into(),
        "--allocate-node-cidrs=true".into(),
        "--cluster-cidr=10.244.0.0/16".into(),
        "--service-cluster-ip-range=10.96.0.0/12".into(),
        "--cluster-name=careen".into(),
        format!("--cluster-signing-cert-file={pki}/ca.crt"),
        format!("--cluster-signing-key-file={pki}/ca.key"),
        format!("--root-ca-file={pki}/ca.crt"),
        format!("--service-account-private-key-file={pki}/sa.key"),
    ]);
    if is_patient {
        arguments.push("--node-monitor-grace-period=120s".into());
    }
    arguments
}

/// The scheduler, without special flags.
pub fn scheduler(folder: &Folder) -> Vec<String> {
    secured(folder, "scheduler", folder.ports.scheduler)
}

/// The common flags of controller manager and scheduler. There is one of each, so waiting for a
/// lease would only cost 15 s at every start.
fn secured(folder: &Folder, user: &str, port: u16) -> Vec<String> {
    let kubeconfig = folder.kubeconfig(user);
    let kubeconfig = kubeconfig.display();
    vec![
        format!("--kubeconfig={kubeconfig}"),
        format!("--authentication-kubeconfig={kubeconfig}"),
        format!("--authorization-kubeconfig={kubeconfig}"),
        "--bind-address=127.0.0.1".into(),
        format!("--secure-port={port}"),
        "--leader-elect=false".into(),
    ]
}

//! The certificates of the node: when they begin and end. Nothing else of them leaves this file.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube::config::Kubeconfig;
use upgrade::control_plane::{Certificate, Kind};
use x509_parser::pem::Pem;

use crate::folder::Folder;

const FOLDER: &str = "/etc/kubernetes";

/// The certificates that kubeadm renews, below [`FOLDER`].
const FILES: [&str; 3] = [
    "pki/apiserver.crt",
    "pki/apiserver-kubelet-client.crt",
    "pki/front-proxy-client.crt",
];

/// Those of its own etcd. With an external one kubeadm renews none of them, and what is left of an
/// earlier member counts for nothing.
const OF_ETCD: [&str; 4] = [
    "pki/apiserver-etcd-client.crt",
    "pki/etcd/server.crt",
    "pki/etcd/peer.crt",
    "pki/etcd/healthcheck-client.crt",
];

/// The kubeconfigs whose certificates kubeadm renews. The kubelet renews its own.
const KUBECONFIGS: [&str; 4] = [
    "admin.conf",
    "super-admin.conf",
    "controller-manager.conf",
    "scheduler.conf",
];

/// The keys without which kubeadm cannot renew, each with the certificate that shows that this node
/// has that authority at all. The one of etcd is the last.
const AUTHORITIES: [(&str, &str); 3] = [
    ("pki/ca.key", "pki/ca.crt"),
    ("pki/front-proxy-ca.key", "pki/front-proxy-ca.crt"),
    ("pki/etcd/ca.key", "pki/etcd/ca.crt"),
];

/// What the certificates of a node say.
#[derive(Debug, Default)]
pub(crate) struct Certificates {
    /// Those that could be read.
    pub all: Vec<Certificate>,
    /// Why others could not. A file that does not exist is none: not every node has all of them.
    pub unread: Vec<String>,
    /// Keys of authorities that are elsewhere.
    pub external: Vec<String>,
}

impl Certificates {
    /// Reads them all.
    pub fn read(folder: &Folder, kind: Kind) -> Self {
        let mut found = Self {
            external: external(folder, kind),
            ..Self::default()
        };
        let of_etcd: &[&str] = match kind {
            Kind::Stacked => &OF_ETCD,
            Kind::External => &[],
        };
        let files = FILES.iter().chain(of_etcd);
        let files = files.map(|name| (*name, of_pem as fn(&str) -> Result<Validity, String>));
        let kubeconfigs = KUBECONFIGS.map(|name| (name, of_kubeconfig as _));
        for (name, parse) in files.chain(kubeconfigs) {
            let path = format!("{FOLDER}/{name}");
            match folder.read(&path) {
                Ok(text) => found.take(name, parse(&text)),
                Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => found.unread.push(Folder::why(&path, &error)),
            }
        }
        found
    }

    fn take(&mut self, name: &str, found: Result<Validity, String>) {
        match found {
            Ok((from, until)) => self.all.push(Certificate {
                name: name.into(),
                from,
                until,
            }),
            Err(why) => self.unread.push(format!("{FOLDER}/{name}: {why}")),
        }
    }
}

/// The client certificate of an external etcd. kubeadm does not renew it, and the survey reads it
/// at this path to ask etcd.
pub(crate) fn client(folder: &Folder, path: &str) -> Option<Certificate> {
    let text = folder.read(path).ok()?;
    let (from, until) = of_pem(&text).ok()?;
    let below = path.strip_prefix(FOLDER);
    let name = below.and_then(|name| name.strip_prefix('/'));
    Some(Certificate {
        name: name.unwrap_or(path).into(),
        from,
        until,
    })
}

/// Begin and end, in seconds since 1970.
type Validity = (u64, u64);

fn external(folder: &Folder, kind: Kind) -> Vec<String> {
    let exists = |name: &str| folder.path(&format!("{FOLDER}/{name}")).exists();
    // kubeadm renews nothing that the authority of an external etcd has signed.
    let count = match kind {
        Kind::Stacked => AUTHORITIES.len(),
        Kind::External => AUTHORITIES.len() - 1,
    };
    let elsewhere = AUTHORITIES.into_iter().take(count);
    let elsewhere = elsewhere.filter(|(key, certificate)| exists(certificate) && !exists(key));
    elsewhere.map(|(key, _)| key.to_owned()).collect()
}

fn of_pem(text: &str) -> Result<Validity, String> {
    validity(text.as_bytes())
}

fn of_kubeconfig(text: &str) -> Result<Validity, String> {
    // The message of the parser may repeat the text.
    let content = Kubeconfig::from_yaml(text).map_err(|_| "it is not a kubeconfig".to_owned())?;
    let mut users = content.auth_infos.into_iter();
    let data = users.find_map(|user| user.auth_info?.client_certificate_data);
    let data = data.ok_or("it has no certificate")?;
    let pem = STANDARD
        .decode(data)
        .map_err(|_| "its certificate is not base64")?;
    validity(&pem)
}

fn validity(pem: &[u8]) -> Result<Validity, String> {
    let mut blocks = Pem::iter_from_buffer(pem).flatten();
    let block = blocks.find(|block| block.label == "CERTIFICATE");
    let block = block.ok_or("it has no certificate")?;
    let found = block.parse_x509();
    let found = found.map_err(|_| "its certificate is damaged".to_owned())?;
    let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
    let validity = found.validity();
    Ok((
        seconds(validity.not_before.timestamp()),
        seconds(validity.not_after.timestamp()),
    ))
}

/// The user of the kubelet's credential: `cp-1` of `system:node:cp-1`.
pub(crate) fn node_name(folder: &Folder) -> Option<String> {
    let text = folder.read(KUBELET).ok()?;
    let content = Kubeconfig::from_yaml(&text).ok()?;
    let mut users = content.auth_infos.into_iter();
    let user = users.find_map(|user| user.auth_info)?;
    let pem = match (user.client_certificate_data, user.client_certificate) {
        (Some(data), _) => STANDARD.decode(data).ok()?,
        (None, Some(path)) => folder.read(&path).ok()?.into_bytes(),
        (None, None) => return None,
    };
    let block = Pem::iter_from_buffer(&pem).flatten();
    let block = block
        .into_iter()
        .find(|block| block.label == "CERTIFICATE")?;
    let found = block.parse_x509().ok()?;
    let name = found.subject().iter_common_name().next()?.as_str().ok()?;
    name.strip_prefix("system:node:").map(str::to_owned)
}

const KUBELET: &str = "/etc/kubernetes/kubelet.conf";

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use rcgen::{CertificateParams, DnType, KeyPair, date_time_ymd};

    use super::*;

    fn pem(name: &str) -> String {
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = date_time_ymd(2027, 1, 1);
        params.distinguished_name.push(DnType::CommonName, name);
        params
            .self_signed(&KeyPair::generate().unwrap())
            .unwrap()
            .pem()
    }

    fn put(folder: &Folder, path: &str, text: &str) {
        let path = folder.path(path);
        fs::create_dir_all(path.parent().unwrap_or(Path::new("/"))).unwrap();
        fs::write(path, text).unwrap();
    }

    fn kubeconfig(user: &str) -> String {
        let data = STANDARD.encode(pem(user));
        format!(
            "apiVersion: v1\nkind: Config\nusers: [{{name: u, user: {{client-certificate-data: {data}}}}}]\n"
        )
    }

    #[test]
    fn files_and_kubeconfigs_say_when_they_end() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        put(
            &folder,
            "/etc/kubernetes/pki/apiserver.crt",
            &pem("kube-apiserver"),
        );
        put(&folder, "/etc/kubernetes/pki/etcd/peer.crt", "torn");
        put(&folder, "/etc/kubernetes/pki/ca.crt", &pem("ca"));
        put(
            &folder,
            "/etc/kubernetes/admin.conf",
            &kubeconfig("kubernetes-admin"),
        );
        put(&folder, "/etc/kubernetes/scheduler.conf", "secret: [");
        let found = Certificates::read(&folder, Kind::Stacked);
        let names: Vec<_> = found.all.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["pki/apiserver.crt", "admin.conf"]);
        assert_eq!(
            (found.all[0].from, found.all[0].until),
            (1_767_225_600, 1_798_761_600)
        );
        assert_eq!(found.external, ["pki/ca.key"]);
        assert_eq!(
            found.unread,
            [
                "/etc/kubernetes/pki/etcd/peer.crt: it has no certificate",
                "/etc/kubernetes/scheduler.conf: it is not a kubeconfig",
            ]
        );
    }

    #[test]
    fn authority_of_an_external_etcd_renews_nothing() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        put(&folder, "/etc/kubernetes/pki/etcd/ca.crt", &pem("etcd-ca"));
        let missing = |kind| Certificates::read(&folder, kind).external;
        assert_eq!(missing(Kind::Stacked), ["pki/etcd/ca.key"]);
        assert!(missing(Kind::External).is_empty());
    }

    #[test]
    fn client_of_an_external_etcd_is_read_where_it_is() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        let own = "/etc/etcd/client.crt";
        assert_eq!(client(&folder, own), None);
        put(&folder, own, &pem("client"));
        let found = client(&folder, own).unwrap();
        assert_eq!((found.name.as_str(), found.until), (own, 1_798_761_600));
        let known = "/etc/kubernetes/pki/apiserver-etcd-client.crt";
        put(&folder, known, &pem("client"));
        let found = client(&folder, known).unwrap();
        assert_eq!(found.name.as_str(), "pki/apiserver-etcd-client.crt");
        // kubeadm renews neither this one nor what an earlier member has left.
        put(&folder, "/etc/kubernetes/pki/etcd/server.crt", &pem("etcd"));
        let names = |kind| Certificates::read(&folder, kind).all.len();
        assert_eq!((names(Kind::Stacked), names(Kind::External)), (2, 0));
    }

    #[test]
    fn a_node_is_named_by_the_credential_of_its_kubelet() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::below(root.path());
        assert_eq!(node_name(&folder), None);
        put(&folder, KUBELET, &kubeconfig("system:node:cp-1"));
        assert_eq!(node_name(&folder).as_deref(), Some("cp-1"));
        put(&folder, KUBELET, &kubeconfig("kubernetes-admin"));
        assert_eq!(node_name(&folder), None);
        put(
            &folder,
            "/var/lib/kubelet/pki/kubelet-client-current.pem",
            &pem("system:node:cp-2"),
        );
        let path = "users: [{name: u, user: {client-certificate: /var/lib/kubelet/pki/kubelet-client-current.pem}}]";
        put(&folder, KUBELET, path);
        assert_eq!(node_name(&folder).as_deref(), Some("cp-2"));
    }
}

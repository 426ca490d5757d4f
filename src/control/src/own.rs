//! The member of etcd on this node, and the credential that kubeadm itself has for it.

use upgrade::control_plane::Source;

use crate::api::Missed;
use crate::etcd::{Address, Client};
use crate::folder::Folder;
use crate::manifests::Manifest;

/// Where kubeadm has etcd's authority, if the manifest does not say it.
const AUTHORITY: &str = "/etc/kubernetes/pki/etcd/ca.crt";

/// Where the member of a node listens, if the manifest does not say it.
const LOOPBACK: &str = "https://127.0.0.1:2379";

/// The file names of the client that kubeadm uses itself, beside the authority.
const CLIENT: &str = "healthcheck-client";

/// A client of the own member, and its address.
pub(crate) fn member(
    folder: &Folder,
    manifest: Option<&Manifest>,
) -> Result<(Client, Address), Missed> {
    let flag = |name| manifest.and_then(|manifest| manifest.flag(name));
    let authority = flag("--trusted-ca-file").unwrap_or(AUTHORITY);
    let pki = authority.rsplit_once('/').map_or("", |(pki, _)| pki);
    let urls = flag("--listen-client-urls").unwrap_or(LOOPBACK);
    let own = first(urls).map_err(|why| (Source::Etcd, why))?;
    let client = credential(
        folder,
        authority,
        &format!("{pki}/{CLIENT}.crt"),
        &format!("{pki}/{CLIENT}.key"),
    )?;
    Ok((client, own))
}

/// The first of the addresses at which the member listens. kubeadm puts loopback there.
fn first(urls: &str) -> Result<Address, String> {
    let first = urls.split(',').next().unwrap_or_default();
    let address: Result<Address, _> = first.parse();
    address.map_err(|error| format!("etcd.yaml, --listen-client-urls: {error}"))
}

/// A client with these files. The error says nothing of their content.
pub(crate) fn credential(
    folder: &Folder,
    authority: &str,
    certificate: &str,
    key: &str,
) -> Result<Client, Missed> {
    let missed = |why: String| (Source::Credential, why);
    let read = |path: &str| {
        let text = folder.read(path);
        text.map_err(|error| missed(Folder::why(path, &error)))
    };
    let client = Client::new(&read(authority)?, &read(certificate)?, &read(key)?);
    client.map_err(|error| missed(format!("{authority}, {certificate}: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_member_is_asked_at_the_first_address() {
        let both = "https://127.0.0.1:2379,https://10.0.2.15:2379";
        for urls in [both, LOOPBACK] {
            assert_eq!(first(urls).unwrap().to_string(), LOOPBACK);
        }
        for urls in ["", "unix:///run/etcd", "http://127.0.0.1:2379"] {
            assert!(first(urls).is_err(), "{urls:?}");
        }
    }
}

//! What the own member says about its data and its peers, for the note beside a snapshot.

use serde::{Deserialize, Serialize};
use upgrade::control_plane::{EtcdId, Name};

use super::address::Address;
use super::client::Client;
use super::wire::{self, Number};

/// Whose data a member has, and how new it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Identity {
    /// The cluster's id.
    pub cluster: EtcdId,
    /// The last revision that the member has.
    pub revision: u64,
    /// The version of the data's form, if etcd says it (since 3.6).
    #[serde(skip_serializing_if = "Name::is_empty")]
    pub storage_version: Name,
    /// All members, as a restore must name them.
    pub peers: Vec<Peer>,
}

/// A member, and where its peers reach it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Peer {
    /// Its name.
    pub name: Name,
    /// Its peer URLs.
    #[serde(rename = "peerURLs")]
    pub urls: Vec<Name>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Status {
    header: Header,
    #[serde(rename = "storageVersion")]
    storage_version: Name,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Header {
    cluster_id: Number,
    revision: Number,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct List {
    members: Vec<Peer>,
}

/// Asks the own member.
///
/// # Errors
/// It does not answer so that one can read it.
pub async fn identity(client: &Client, own: &Address) -> Result<Identity, String> {
    let ask = async |path| {
        let answer = client.post(own, path, "{}").await;
        answer.map_err(|error| error.to_string())
    };
    read(&ask(wire::STATUS).await?, &ask(wire::MEMBERS).await?)
}

fn read(status: &str, list: &str) -> Result<Identity, String> {
    let status: Status = wire::json(status)?;
    let list: List = wire::json(list)?;
    if status.header.revision.0 == 0 || list.members.is_empty() {
        return Err("its answer has no revision or no member".to_owned());
    }
    Ok(Identity {
        cluster: EtcdId(status.header.cluster_id.0),
        revision: status.header.revision.0,
        storage_version: status.storage_version,
        peers: list.members,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_has_a_cluster_a_revision_and_peers() {
        let status = r#"{"header":{"cluster_id":"17","revision":"42"},"storageVersion":"3.6.0"}"#;
        let list = r#"{"members":[{"ID":"1","name":"cp-1","peerURLs":["https://10.0.0.1:2380"]}]}"#;
        let found = read(status, list).unwrap();
        assert_eq!((found.cluster, found.revision), (EtcdId(17), 42));
        assert_eq!(found.peers[0].urls[0].as_str(), "https://10.0.0.1:2380");
        assert!(read("{}", list).is_err() && read(status, "{}").is_err());
    }
}

//! Reads and writes the lock at the API server, with admin.conf.

use client::chain;
use hyper::Uri;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, DeleteParams, PostParams, Preconditions};
use kube::{Client, Error, ResourceExt as _};
use upgrade::control_plane::{Failure, Held, Holder, LOCK, LOCK_NAMESPACE, News, Source};
use upgrade::names::STATUS;

use crate::connect::{ADMIN, PATIENCE, connect_to, own_server};
use crate::folder::Folder;
use crate::lease;

/// What the verbs of the lock ask.
pub(crate) struct Leases {
    leases: Api<Lease>,
    nodes: Api<Node>,
}

/// Whether a write was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrote {
    /// It is in the cluster.
    Yes,
    /// The lock has changed since it was read. Nothing was written.
    Changed,
}

impl Leases {
    /// Uses the administrator's credential: at the address in admin.conf, or if it does not answer,
    /// at that of this node's own API server. Both write to one etcd, so there is one lock.
    pub async fn open(folder: &Folder) -> Result<Self, Failure> {
        let first = Self::at(folder, None)?;
        if first.answers().await {
            return Ok(first);
        }
        let Some(own) = own_server(folder) else {
            return Ok(first);
        };
        let own = Self::at(folder, Some(own))?;
        Ok(if own.answers().await { own } else { first })
    }

    fn at(folder: &Folder, server: Option<Uri>) -> Result<Self, Failure> {
        let client: Result<Client, _> = connect_to(folder, ADMIN, server);
        let client = client.map_err(|why| Failure::new(Source::Credential, why))?;
        Ok(Self {
            leases: Api::namespaced(client.clone(), LOCK_NAMESPACE),
            nodes: Api::all(client),
        })
    }

    /// Whether a server answers, if only by a refusal of the credential.
    async fn answers(&self) -> bool {
        let read = tokio::time::timeout(PATIENCE, self.read()).await;
        read.is_ok_and(|read| read.map_or_else(|why| why.source != Source::Api, |_| true))
    }

    /// The Lease, if there is one. The API server answers from etcd, not from a cache.
    pub async fn read(&self) -> Result<Option<Lease>, Failure> {
        self.leases.get_opt(LOCK).await.map_err(failure)
    }

    /// What the Node of another holder says about its upgrade.
    pub async fn news(&self, me: &Holder, held: &Held) -> Result<News, Failure> {
        let holder = match held {
            Held::By(holder) if holder != me => holder,
            Held::By(_) | Held::Free | Held::Somebody(_) => return Ok(News::Nothing),
        };
        let node = self.nodes.get_opt(holder.node()).await.map_err(failure)?;
        Ok(node.map_or(News::Gone, |node| {
            News::of(node.annotations().get(STATUS).map(String::as_str))
        }))
    }

    /// Writes this holder: creates the Lease, or replaces exactly the one that was read.
    pub async fn write(
        &self,
        before: Option<Lease>,
        holder: &Holder,
        now: u64,
    ) -> Result<Wrote, Failure> {
        let by = PostParams::default();
        let exists = before.is_some();
        let lease = lease::held_by(before, holder, now);
        let written = match exists {
            true => self.leases.replace(LOCK, &by, &lease).await,
            false => self.leases.create(&by, &lease).await,
        };
        outcome(written.map(drop))
    }

    /// Removes exactly the Lease that was read.
    pub async fn remove(&self, read: &Lease) -> Result<Wrote, Failure> {
        let exactly = DeleteParams {
            preconditions: Some(Preconditions {
                uid: read.metadata.uid.clone(),
                resource_version: read.metadata.resource_version.clone(),
            }),
            ..DeleteParams::default()
        };
        outcome(self.leases.delete(LOCK, &exactly).await.map(drop))
    }
}

/// 404: it was removed since; 409: it was made or changed since.
fn outcome(written: Result<(), Error>) -> Result<Wrote, Failure> {
    match written {
        Ok(()) => Ok(Wrote::Yes),
        Err(Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(Wrote::Changed),
        Err(error) => Err(failure(error)),
    }
}

fn failure(error: Error) -> Failure {
    let refused = matches!(&error, Error::Api(status) if matches!(status.code, 401 | 403));
    let source = match refused {
        true => Source::Credential,
        false => Source::Api,
    };
    Failure::new(source, format!("{ADMIN}: {}", chain(&error)))
}

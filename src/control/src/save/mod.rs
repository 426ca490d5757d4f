//! Makes a snapshot of etcd on this node, verified before it has its name.
//!
//! It holds everything that the cluster knows, also its Secrets. It is for root alone, and it never
//! leaves the node.

mod note;
mod part;
mod room;
mod store;
mod unwritten;

use upgrade::UpgradeId;
use upgrade::control_plane::{
    Component, Failure, Refusal, Saved, Saving, Source, Use, fitness, surplus, wanted,
};

use crate::api::Missed;
use crate::etcd::{self, Address, Broken, Client, Found, Identity, identity, snapshot};
use crate::folder::Folder;
use crate::manifests::Manifests;
use crate::node::{self, NoControlPlane};
use crate::own;
use crate::stacked::{self, Stacked};
use note::Note;
use store::{FOLDER, Store};

/// What to save, and for whom.
#[derive(Clone, Debug)]
pub struct Order {
    /// The upgrade whose snapshot it is.
    pub upgrade: UpgradeId,
    /// How many snapshots stay, this one too. One always does.
    pub keep: usize,
    /// The wall clock, in seconds since 1970.
    pub now: u64,
}

/// Saves etcd, or says why not. What an earlier run left half done is removed either way.
///
/// # Errors
/// This is no control-plane node.
pub async fn save(folder: &Folder, order: &Order) -> Result<Saving, NoControlPlane> {
    node::check(folder)?;
    Ok(match attempt(folder, order).await {
        Ok(saved) => Saving::Saved(saved),
        Err(saving) => saving,
    })
}

async fn attempt(folder: &Folder, order: &Order) -> Result<Saved, Saving> {
    let Stacked::Here(configuration) = stacked::look(folder).await else {
        return Err(Saving::Refused(Refusal::External));
    };
    // The snapshot has it as well, so it may be missing beside it.
    let (configuration, no_configuration) = match configuration {
        Ok(found) => (Some(found.text), None),
        Err(why) => (None, Some(why)),
    };
    let store = Store::open(folder)?;
    let manifests = Manifests::read(folder);
    let manifest = manifests.all.get(&Component::Etcd);
    let (client, own) = own::member(folder, manifest).map_err(missed)?;
    let found = etcd::stacked(&client, &own).await;
    let size = fit(&found)?;
    let identity = identity(&client, &own).await;
    let identity = identity.map_err(|why| missed((Source::Etcd, why)))?;
    let mut removed = room::make(&store, size, order.keep)?;
    let (client, own) = (&client, &own);
    let snapshot = receive(&store, order, client, own, wanted(Use::Snapshot, size)).await?;
    let note = Note {
        upgrade: &order.upgrade,
        node: &node::name(folder),
        at: order.now,
        etcd: &identity,
        member: found.me,
        etcd_version: found.own.as_ref().map(|own| own.version),
        bytes: snapshot.bytes,
        sha256: &snapshot.sha256,
        manifests: manifests.versions().0,
        cluster_configuration: configuration,
    };
    store.put_note(&order.upgrade, &note)?;
    removed.extend(prune(&store, order));
    Ok(saved(order, snapshot, &identity, removed, no_configuration))
}

/// The size of the database, if a snapshot of it is worth having.
fn fit(found: &Found) -> Result<u64, Saving> {
    let unread = || missed((Source::Etcd, found.unread.join("; ")));
    let own = found.own.as_ref().ok_or_else(unread)?;
    let member = found.members.iter().find(|member| member.id == own.id);
    let lag = member.and_then(|member| member.lag).unwrap_or(0);
    fitness(own, lag, &found.alarms).map_err(Saving::Refused)?;
    // The members or the alarms: without them nobody knows that the data is right.
    match found.unread.is_empty() {
        true => Ok(own.db_bytes),
        false => Err(unread()),
    }
}

/// Writes and verifies the database. It has its name only after that.
async fn receive(
    store: &Store,
    order: &Order,
    client: &Client,
    own: &Address,
    most: u64,
) -> Result<crate::etcd::Snapshot, Saving> {
    let mut part = store.begin(&order.upgrade, most)?;
    let snapshot = snapshot(client, own, &mut part).await;
    let snapshot = snapshot.map_err(broken)?;
    part.complete()?;
    Ok(snapshot)
}

/// Removes what is too much. The new snapshot stays, and a file that cannot be removed is no reason
/// to do without it.
fn prune(store: &Store, order: &Order) -> Vec<UpgradeId> {
    let others = store.kept().into_iter();
    let others = others.filter(|kept| kept.id != order.upgrade).collect();
    let surplus = surplus(others, order.keep.saturating_sub(1)).into_iter();
    surplus.filter(|id| store.remove(id).is_ok()).collect()
}

fn saved(
    order: &Order,
    snapshot: crate::etcd::Snapshot,
    identity: &Identity,
    removed: Vec<UpgradeId>,
    no_configuration: Option<String>,
) -> Saved {
    Saved {
        file: format!("{FOLDER}/{}.db", order.upgrade).into(),
        bytes: snapshot.bytes,
        sha256: snapshot.sha256,
        revision: identity.revision,
        removed,
        no_configuration: no_configuration.map(Into::into),
    }
}

fn missed((source, why): Missed) -> Saving {
    Saving::Failed(Failure::new(source, why))
}

fn broken(error: Broken) -> Saving {
    match error {
        Broken::Write(error) => Saving::NotWritten {
            why: error.to_string().into(),
        },
        Broken::Member(_) | Broken::Content(_) => missed((Source::Etcd, error.to_string())),
    }
}

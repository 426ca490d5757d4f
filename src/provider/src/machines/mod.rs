//! The management cluster as last seen: Machines, and the relevant facts of their owners.

mod from;
mod group;
mod key;
mod near;
mod owners;
mod state;
mod store;
mod work;

use kube::Client;
use kube::core::{ApiResource, ObjectMeta};
use tracing::{debug, warn};

use crate::api;
use crate::clock::now;
use crate::queue::Queue;
use crate::watch::{self, Filter, News, WatchError};
pub use group::{Group, GroupKind};
pub use key::Key;
pub use near::{On, misses};
pub use owners::{ClusterFacts, ControlPlaneFacts, DeploymentFacts};
pub use store::Machines;

/// A Machine as facts.
#[must_use]
pub fn parse(object: api::Machine) -> crate::engine::Machine {
    from::machine(object)
}

/// Watches Machines, Clusters and MachineDeployments for ever. A change queues the Machines
/// concerned. `seen` gets each object's metadata, its kind, and which keys it may have.
pub async fn run(
    client: Client,
    namespace: Option<String>,
    machines: Machines,
    queue: Queue<Key>,
    seen: impl Fn(&ObjectMeta, &ApiResource, On),
) {
    let (namespace, seen) = (namespace.as_deref(), &seen);
    let of_machines = watch_all(
        api::scoped::<api::Machine>(client.clone(), &api::core("Machine"), namespace),
        |news| match news {
            News::All(all) => {
                machines.watched(now());
                machines.replace(all.into_iter().map(from::machine).collect())
            }
            News::Changed(one) => machines.follow(from::machine(one)),
            News::Gone(one) => machines.remove(&from::machine(one).key()),
        },
        || machines.lost(now()),
        &queue,
        |meta| seen(meta, &api::core("Machine"), On::Machine),
    );
    let of_clusters = watch_all(
        api::scoped::<api::Cluster>(client.clone(), &api::core("Cluster"), namespace),
        |news| match news {
            News::All(all) => {
                machines.replace_clusters(all.into_iter().map(from::cluster).collect())
            }
            News::Changed(one) => machines.put_cluster(from::cluster(one)),
            News::Gone(one) => machines.remove_cluster(&from::cluster(one).0),
        },
        || {},
        &queue,
        |meta| seen(meta, &api::core("Cluster"), On::Owner),
    );
    let of_deployments = watch_all(
        api::scoped::<api::MachineDeployment>(
            client.clone(),
            &api::core("MachineDeployment"),
            namespace,
        ),
        |news| match news {
            News::All(all) => {
                machines.replace_deployments(all.into_iter().map(from::deployment).collect())
            }
            News::Changed(one) => machines.put_deployment(from::deployment(one)),
            News::Gone(one) => machines.remove_deployment(&from::deployment(one).0),
        },
        || {},
        &queue,
        |meta| seen(meta, &api::core("MachineDeployment"), On::Owner),
    );
    let of_control_planes = watch_control_planes(client, namespace, &machines, &queue, seen);
    tokio::join!(of_machines, of_clusters, of_deployments, of_control_planes);
}

/// Another kind of control plane may replace this one. So the absence of this kind blocks nothing
/// and is not worth a warning. A server that does not answer, or refuses, is different: it may have
/// an object with a never-replace setting.
async fn watch_control_planes(
    client: Client,
    namespace: Option<&str>,
    machines: &Machines,
    queue: &Queue<Key>,
    seen: &impl Fn(&ObjectMeta, &ApiResource, On),
) {
    let kind = api::kubeadm_control_plane();
    let api = api::scoped::<api::ControlPlane>(client, &kind, namespace);
    let tell = |news: News<api::ControlPlane>| {
        of_each(&news, |meta| seen(meta, &kind, On::Owner));
        let keys = match news {
            News::All(all) => {
                machines.replace_control_planes(all.into_iter().map(from::control_plane).collect())
            }
            News::Changed(one) => machines.put_control_plane(from::control_plane(one)),
            News::Gone(one) => machines.remove_control_plane(&from::control_plane(one).0),
        };
        keys.into_iter().for_each(|key| queue.add(key));
    };
    watch::forever(api, Filter::default(), tell, |error| {
        match error {
            WatchError::Missing(_) => {
                debug!("cannot watch KubeadmControlPlanes: {error}");
                machines.no_control_planes();
            }
            WatchError::Refused(_) | WatchError::Away(_) | WatchError::TooLong(_) => {
                warn!("the watch of KubeadmControlPlanes failed: {error}");
            }
        }
        std::future::ready(())
    })
    .await;
}

async fn watch_all<K>(
    api: kube::Api<K>,
    mut store: impl FnMut(News<K>) -> Vec<Key>,
    mut lost: impl FnMut(),
    queue: &Queue<Key>,
    seen: impl Fn(&ObjectMeta),
) where
    K: kube::Resource + Clone + std::fmt::Debug + serde::de::DeserializeOwned + Send + 'static,
{
    let path = api.resource_url().to_owned();
    let tell = |news: News<K>| {
        of_each(&news, &seen);
        store(news).into_iter().for_each(|key| queue.add(key));
    };
    watch::forever(api, Filter::default(), tell, |error| {
        warn!("the watch of {path} failed: {error}");
        lost();
        std::future::ready(())
    })
    .await;
}

/// The metadata of the objects that are there.
fn of_each<K: kube::Resource>(news: &News<K>, seen: impl Fn(&ObjectMeta)) {
    match news {
        News::All(all) => all.iter().for_each(|one| seen(one.meta())),
        News::Changed(one) => seen(one.meta()),
        News::Gone(_) => {}
    }
}

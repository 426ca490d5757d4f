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
use kube::core::{ApiResource, DynamicResourceScope, ObjectMeta};
use tracing::{debug, warn};

use crate::api;
use crate::clock::now;
use crate::queue::Queue;
use crate::watch::{self, Filter, News, WatchError};
pub use from::looks_paused;
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
    let watching = Watching {
        client,
        namespace: namespace.as_deref(),
        machines: &machines,
        queue: &queue,
        seen: &seen,
    };
    tokio::join!(
        watching.machines(),
        watching.clusters(),
        watching.deployments(),
        watching.control_planes(),
    );
}

/// What each watch needs.
struct Watching<'a, S> {
    client: Client,
    namespace: Option<&'a str>,
    machines: &'a Machines,
    queue: &'a Queue<Key>,
    seen: &'a S,
}

impl<S: Fn(&ObjectMeta, &ApiResource, On)> Watching<'_, S> {
    async fn machines(&self) {
        let store = |news| match news {
            News::All(all) => {
                self.machines.watched(now());
                self.machines.replace(each(all, from::machine))
            }
            News::Changed(one) => self.machines.follow(from::machine(one)),
            News::Gone(one) => self.machines.remove(&from::machine(one).key()),
        };
        let lost = || self.machines.lost(now());
        self.watch::<api::Machine>("Machine", store, lost, On::Machine)
            .await;
    }

    async fn clusters(&self) {
        let store = |news| match news {
            News::All(all) => self.machines.replace_clusters(each(all, from::cluster)),
            News::Changed(one) => self.machines.put_cluster(from::cluster(one)),
            News::Gone(one) => self.machines.remove_cluster(&from::cluster(one).0),
        };
        self.watch::<api::Cluster>("Cluster", store, || {}, On::Owner)
            .await;
    }

    async fn deployments(&self) {
        let store = |news| match news {
            News::All(all) => self
                .machines
                .replace_deployments(each(all, from::deployment)),
            News::Changed(one) => self.machines.put_deployment(from::deployment(one)),
            News::Gone(one) => self.machines.remove_deployment(&from::deployment(one).0),
        };
        self.watch::<api::MachineDeployment>("MachineDeployment", store, || {}, On::Owner)
            .await;
    }

    async fn watch<K>(
        &self,
        kind: &str,
        mut store: impl FnMut(News<K>) -> Vec<Key>,
        mut lost: impl FnMut(),
        on: On,
    ) where
        K: kube::Resource<DynamicType = ApiResource, Scope = DynamicResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::de::DeserializeOwned
            + Send
            + 'static,
    {
        let kind = api::core(kind);
        let api = api::scoped::<K>(self.client.clone(), &kind, self.namespace);
        let path = api.resource_url().to_owned();
        let tell = |news: News<K>| {
            of_each(&news, |meta| (self.seen)(meta, &kind, on));
            self.queue_all(store(news));
        };
        watch::forever(api, Filter::default(), tell, |error| {
            warn!("the watch of {path} failed: {error}");
            lost();
            std::future::ready(())
        })
        .await;
    }

    /// Another kind of control plane may replace this one. So the absence of this kind blocks
    /// nothing and is not worth a warning. A server that does not answer, or refuses, is different:
    /// it may have an object with a never-replace setting.
    async fn control_planes(&self) {
        let kind = api::kubeadm_control_plane();
        let api = api::scoped::<api::ControlPlane>(self.client.clone(), &kind, self.namespace);
        let tell = |news: News<api::ControlPlane>| {
            of_each(&news, |meta| (self.seen)(meta, &kind, On::Owner));
            self.queue_all(match news {
                News::All(all) => self
                    .machines
                    .replace_control_planes(each(all, from::control_plane)),
                News::Changed(one) => self.machines.put_control_plane(from::control_plane(one)),
                News::Gone(one) => self
                    .machines
                    .remove_control_plane(&from::control_plane(one).0),
            });
        };
        watch::forever(api, Filter::default(), tell, |error| {
            match error {
                WatchError::Missing(_) => {
                    debug!("cannot watch KubeadmControlPlanes: {error}");
                    self.machines.no_control_planes();
                }
                WatchError::Refused(_) | WatchError::Away(_) | WatchError::TooLong(_) => {
                    warn!("the watch of KubeadmControlPlanes failed: {error}");
                }
            }
            std::future::ready(())
        })
        .await;
    }

    fn queue_all(&self, keys: Vec<Key>) {
        keys.into_iter().for_each(|key| self.queue.add(key));
    }
}

fn each<K, F, Facts: FromIterator<F>>(all: Vec<K>, fact: impl FnMut(K) -> F) -> Facts {
    all.into_iter().map(fact).collect()
}

/// The metadata of the objects that are there.
fn of_each<K: kube::Resource>(news: &News<K>, seen: impl Fn(&ObjectMeta)) {
    match news {
        News::All(all) => all.iter().for_each(|one| seen(one.meta())),
        News::Changed(one) => seen(one.meta()),
        News::Gone(_) => {}
    }
}

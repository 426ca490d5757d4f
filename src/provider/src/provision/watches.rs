//! What the infrastructure provider watches.

use std::sync::Arc;

use kube::api::Api;
use kube::core::{ApiResource, GroupVersionKind, NamespaceResourceScope};
use tokio::task::JoinSet;
use tracing::warn;

use super::accounts::HOST_LABEL;
use super::wire;
use super::work::{Item, Provision};
use crate::kinds::{
    CareenCluster, CareenHost, CareenMachine, CareenMachinePool, CareenMachineTemplate,
    HostRegistration,
};
use crate::watch::{self, Filter, News};

/// Starts the watches and the work.
pub fn start(tasks: &mut JoinSet<()>, provision: &Arc<Provision>, namespace: Option<&str>) {
    let this = Arc::clone(provision);
    each::<CareenHost>(tasks, provision, namespace, move |news| {
        for (key, host) in this.inventory.hosts(news, this.now()) {
            this.host_changed(key, &host);
        }
    });
    let this = Arc::clone(provision);
    each::<CareenMachine>(tasks, provision, namespace, move |news| {
        for news in this.inventory.machines(news) {
            this.queue.add(Item::Machine(news.machine));
            let pool = news.pool.map(Item::Pool);
            let host = news.host.map(Item::Host);
            pool.into_iter()
                .chain(host)
                .for_each(|item| this.queue.add(item));
        }
    });
    let this = Arc::clone(provision);
    each::<CareenCluster>(tasks, provision, namespace, move |news| {
        for key in this.inventory.clusters_changed(news) {
            this.queue.add(Item::Cluster(key));
        }
    });
    let this = Arc::clone(provision);
    each::<CareenMachineTemplate>(tasks, provision, namespace, move |news| {
        for key in this.inventory.templates_changed(news) {
            this.queue.add(Item::Template(key));
        }
    });
    let this = Arc::clone(provision);
    each::<CareenMachinePool>(tasks, provision, namespace, move |news| {
        for key in this.inventory.pools_changed(news) {
            this.queue.add(Item::Pool(key));
        }
    });
    machine_pools(tasks, provision, namespace);
    // A registration that is new or wider lets in hosts that wait.
    let this = Arc::clone(provision);
    each::<HostRegistration>(tasks, provision, namespace, move |news| {
        for key in this.inventory.registrations_changed(news) {
            this.queue.add(Item::Registration(key));
        }
        for host in this.inventory.all_hosts() {
            this.queue.add(Item::Host(host));
        }
    });
    leases(tasks, provision, namespace);
    tasks.spawn(Arc::clone(provision).look_at_all());
    tasks.spawn(Arc::clone(provision).count_hosts());
    tasks.spawn(Arc::clone(provision).mark_nodes());
    tasks.spawn(Arc::clone(provision).work());
}

fn each<K>(
    tasks: &mut JoinSet<()>,
    provision: &Provision,
    namespace: Option<&str>,
    tell: impl FnMut(News<K>) + Send + 'static,
) where
    K: kube::Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + Send
        + Sync
        + 'static,
{
    let client = provision.client.clone();
    let api: Api<K> = match namespace {
        Some(namespace) => Api::namespaced(client, namespace),
        None => Api::all(client),
    };
    tasks.spawn(watch::forever(api, Filter::default(), tell, |error| {
        let kind = K::kind(&());
        warn!("the watch of {kind} failed: {error}. Check that the CRD is installed; the watch is retried.");
        std::future::ready(())
    }));
}

/// MachinePools are no condition of the rest: a management cluster may not serve them.
fn machine_pools(tasks: &mut JoinSet<()>, provision: &Arc<Provision>, namespace: Option<&str>) {
    let kind = crate::api::core("MachinePool");
    let api = crate::api::scoped::<wire::MachinePool>(provision.client.clone(), &kind, namespace);
    let this = Arc::clone(provision);
    let tell = move |news: News<wire::MachinePool>| match news {
        News::All(all) => all.iter().for_each(|one| this.pool_changed(one)),
        News::Changed(one) | News::Gone(one) => this.pool_changed(&one),
    };
    tasks.spawn(watch::forever(api, Filter::default(), tell, |error| {
        warn!("the watch of MachinePools failed: {error}");
        std::future::ready(())
    }));
}

fn leases(tasks: &mut JoinSet<()>, provision: &Arc<Provision>, namespace: Option<&str>) {
    let kind = ApiResource::from_gvk(&GroupVersionKind::gvk("coordination.k8s.io", "v1", "Lease"));
    let api = crate::api::scoped::<wire::Lease>(provision.client.clone(), &kind, namespace);
    let filter = Filter {
        labels: Some(HOST_LABEL.to_owned()),
        ..Filter::default()
    };
    let this = Arc::clone(provision);
    tasks.spawn(watch::forever(
        api,
        filter,
        move |news| {
            for host in this.inventory.leases(news, this.now()) {
                this.queue.add(Item::Host(host));
            }
        },
        |error| {
            warn!("the watch of the hosts' Leases failed: {error}");
            std::future::ready(())
        },
    ));
}

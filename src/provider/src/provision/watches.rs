//! What the infrastructure provider watches.

use std::sync::Arc;

use kube::api::Api;
use kube::core::{ApiResource, GroupVersionKind};
use tokio::task::JoinSet;
use tracing::warn;

use super::accounts::HOST_LABEL;
use super::inventory::Named;
use super::wire;
use super::work::{Item, Provision};
use crate::kinds::{
    CareenCluster, CareenHost, CareenMachine, CareenMachinePool, CareenMachineTemplate,
    HostRegistration,
};
use crate::machines::Key;
use crate::watch::{self, Filter, News};
use crate::writes::provision::Object;

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
    named::<CareenCluster>(tasks, provision, namespace, Named::Cluster, Item::Cluster);
    named::<CareenMachineTemplate>(tasks, provision, namespace, Named::Template, Item::Template);
    named::<CareenMachinePool>(tasks, provision, namespace, Named::Pool, Item::Pool);
    machine_pools(tasks, provision, namespace);
    // A registration that is new or wider lets in hosts that wait.
    let this = Arc::clone(provision);
    each::<HostRegistration>(tasks, provision, namespace, move |news| {
        let changed = this.inventory.keep(Named::Registration, news);
        this.queue_each(changed, Item::Registration);
        this.queue_each(this.inventory.all_hosts(), Item::Host);
    });
    leases(tasks, provision, namespace);
    tasks.spawn(Arc::clone(provision).look_at_all());
    tasks.spawn(Arc::clone(provision).count_hosts());
    tasks.spawn(Arc::clone(provision).mark_nodes());
    tasks.spawn(Arc::clone(provision).work());
}

/// Queues the objects of a kind that are new or changed.
fn named<K: Object + Send + Sync + 'static>(
    tasks: &mut JoinSet<()>,
    provision: &Arc<Provision>,
    namespace: Option<&str>,
    kind: Named,
    item: fn(Key) -> Item,
) {
    let this = Arc::clone(provision);
    each::<K>(tasks, provision, namespace, move |news| {
        this.queue_each(this.inventory.keep(kind, news), item);
    });
}

fn each<K: Object + Send + Sync + 'static>(
    tasks: &mut JoinSet<()>,
    provision: &Provision,
    namespace: Option<&str>,
    tell: impl FnMut(News<K>) + Send + 'static,
) {
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
            this.queue_each(this.inventory.leases(news, this.now()), Item::Host);
        },
        |error| {
            warn!("the watch of the hosts' Leases failed: {error}");
            std::future::ready(())
        },
    ));
}

//! The task that maintains one workload cluster's connection.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Client;
use tracing::{debug, info, warn};

use super::cap::Room;
use super::connect;
use super::size::Size;
use super::store::{BYTES, ClusterState, Link, MOST, PODS_OF_ONE};
use crate::api;
use crate::clock::now;
use crate::engine::clean;
use crate::machines::{Key, Machines};
use crate::queue::Queue;
use crate::watch::{self, Budget, Filter, News, Pauses, Share, WatchError};

/// How often the Secret is read while the connection holds, because a credential may be rotated
/// long before the old one expires. This is one request per Cluster to the management cluster.
const LOOK: Duration = Duration::from_secs(60);

/// The minimum interval between requests for the server's version. Doubts come in bursts, and
/// repeat as long as they hold a Machine.
const VERSIONS: Duration = Duration::from_secs(30);

/// How many Nodes are requested at once. A page of 100 takes some 3 MiB. Captured nodes can make
/// their own objects 9 MiB long each. So if a page is too long, the next list has smaller ones,
/// down to one Node. Then no node hides the others.
const PAGES: [u32; 3] = [100, 10, 1];

/// The timeout of a list. 5,000 Nodes are 150 MiB, which take two minutes over a link of 10 Mbit/s.
const LISTING: Duration = Duration::from_secs(180);

/// The extra time for small pages, which need more answers. So captured nodes with long objects do
/// not hide others.
const SMALL_PAGES: u32 = 5;

/// The timeout of a list in pages of this size.
fn listing(page: u32) -> Duration {
    LISTING * (PAGES[0] / page.max(1)).min(SMALL_PAGES)
}

/// State that all connections share.
pub(super) struct Around {
    pub(super) management: Client,
    pub(super) machines: Machines,
    pub(super) queue: Queue<Key>,
    pub(super) room: Room,
}

/// State of one connection.
struct Scene<'a> {
    around: &'a Around,
    cluster: &'a Key,
    state: &'a ClusterState,
    /// How many objects are requested at once.
    page: u32,
}

pub(super) async fn run(around: Around, cluster: Key, state: Arc<ClusterState>) {
    let mut scene = Scene {
        around: &around,
        cluster: &cluster,
        state: &state,
        page: PAGES[0],
    };
    let mut pauses = Pauses::default();
    loop {
        let mut listed = None;
        let why = scene.live(&mut listed).await;
        if why.is_too_long && listed.is_none() {
            scene.page = smaller(scene.page);
        }
        // A watch that ends is not yet an absence, because the next try may succeed. A try that
        // fails is one.
        if listed.is_none() || why.is_refusal {
            scene.away(&why.text);
        }
        let held = listed.map(|at| at.elapsed());
        tokio::time::sleep(pauses.after(held.unwrap_or_default())).await;
    }
}

/// The next smaller page size.
fn smaller(page: u32) -> u32 {
    PAGES.into_iter().find(|next| *next < page).unwrap_or(page)
}

/// Limits a list to what the store keeps.
fn few<K: Size>(page: u32) -> Filter<K> {
    Filter {
        budget: Some(Budget {
            page,
            most: MOST,
            bytes: BYTES,
            size: K::size,
            share: None,
            within: listing(page),
        }),
        ..Filter::default()
    }
}

/// The static pods of control planes. Any node may make mirror pods of itself with this label, so
/// each counts with few.
fn static_pods(page: u32) -> Filter<api::Pod> {
    let mut filter = few(page);
    filter.labels = Some("tier=control-plane".to_owned());
    if let Some(budget) = &mut filter.budget {
        budget.share = Some(Share {
            of: |pod: &api::Pod| Some(pod.facts.as_ref()?.1.as_str()),
            most: PODS_OF_ONE,
        });
    }
    filter
}

/// Why a connection ended.
struct End {
    text: String,
    is_refusal: bool,
    is_too_long: bool,
}

impl End {
    fn because(text: impl ToString) -> Self {
        Self {
            text: text.to_string(),
            is_refusal: false,
            is_too_long: false,
        }
    }
}

impl From<WatchError> for End {
    fn from(error: WatchError) -> Self {
        Self {
            is_refusal: matches!(error, WatchError::Refused(_)),
            is_too_long: matches!(error, WatchError::TooLong(_)),
            text: error.to_string(),
        }
    }
}

impl Scene<'_> {
    async fn live(&self, listed: &mut Option<Instant>) -> End {
        let around = self.around;
        let kubeconfig = match connect::kubeconfig(&around.management, self.cluster).await {
            Ok(kubeconfig) => kubeconfig,
            Err(error) => return End::because(error),
        };
        let pulse = self.state.pulse();
        let client = connect::client(self.cluster, &kubeconfig, pulse, &around.room).await;
        let client = match client {
            Ok(client) => client,
            Err(error) => return End::because(error),
        };
        let server = match connect::version(&client).await {
            Ok(server) => server,
            Err(error) => return error.into(),
        };
        let link = Link {
            server,
            client: client.clone(),
        };
        tokio::select! {
            end = self.watch_nodes(&link, listed) => end,
            end = self.watch_pods(client.clone()) => end,
            end = self.follow_version(&client) => end,
            () = self.until_rotated(&kubeconfig) => End::because("its kubeconfig was rotated"),
            () = self.state.until_suspected() => End::because("a request got no answer"),
            () = pulse.until_silent() => End::because("it sent nothing for a long time"),
        }
    }

    async fn watch_nodes(&self, link: &Link, listed: &mut Option<Instant>) -> End {
        let tell = |news: News<api::Node>| match news {
            News::All(all) => {
                *listed = Some(Instant::now());
                info!(cluster = %self.cluster, nodes = all.len(), "watching Nodes");
                let marked = all.iter().filter(|node| node.unmanaged);
                let marked: Vec<String> = marked.map(|node| node.name().to_owned()).collect();
                let nodes = all.into_iter().map(|node| node.facts).collect();
                let names = self.state.live(link.clone(), nodes, now());
                self.state.replace_marks(marked);
                names.iter().for_each(|node| self.wake(node));
            }
            News::Changed(node) => {
                let (name, marked) = (node.facts.name.clone(), node.unmanaged);
                let is_news = self.state.put(node.facts);
                self.state.mark(&name, marked);
                if is_news {
                    self.wake(&name);
                }
            }
            News::Gone(node) => {
                self.state.remove(node.name());
                self.wake(node.name());
            }
        };
        let Err(error) = watch::once(api::nodes(link.client.clone()), &few(self.page), tell).await;
        error.into()
    }

    /// Static pods matter only for control planes. A cluster that shows none, or refuses the
    /// request, is still served for its workers.
    async fn watch_pods(&self, client: Client) -> End {
        let failed = AtomicBool::new(false);
        let tell = |news: News<api::Pod>| match news {
            News::All(all) => {
                failed.store(false, Ordering::Relaxed);
                let pods = all.into_iter().filter_map(|pod| pod.facts);
                self.state.replace_pods(pods.collect());
            }
            News::Changed(pod) => {
                if let Some(pod) = pod.facts {
                    let node = pod.1.clone();
                    self.state.put_pod(pod);
                    self.wake(&node);
                }
            }
            News::Gone(pod) => self.state.remove_pod(pod.name()),
        };
        let filter = static_pods(self.page);
        watch::forever(api::system_pods(client), filter, tell, |error| {
            let cluster = self.cluster;
            match failed.swap(true, Ordering::Relaxed) {
                false => warn!(%cluster, "the watch of static pods failed: {error}"),
                true => debug!(%cluster, "the watch of static pods failed again: {error}"),
            }
            std::future::ready(())
        })
        .await;
        std::future::pending().await
    }

    /// A connection may outlive the server that it started with, if several share one address. The
    /// watches handle a server that does not answer.
    async fn follow_version(&self, client: &Client) -> End {
        loop {
            self.state.until_doubted().await;
            match connect::version(client).await {
                Ok(Some(version)) if self.state.serves(&version) => {
                    info!(cluster = %self.cluster, %version, "the API server's version has changed");
                    self.wake_all();
                }
                Ok(_) => {}
                Err(_) => self.state.doubt(),
            }
            tokio::time::sleep(VERSIONS).await;
        }
    }

    async fn until_rotated(&self, kubeconfig: &[u8]) {
        loop {
            tokio::time::sleep(LOOK).await;
            let now = connect::kubeconfig(&self.around.management, self.cluster).await;
            if now.is_ok_and(|now| now != kubeconfig) {
                return;
            }
        }
    }

    fn wake(&self, node: &str) {
        if let Some(machine) = self.around.machines.of_node(self.cluster, node) {
            self.around.queue.add(machine);
        }
    }

    fn away(&self, why: &str) {
        if self.state.away(why) {
            warn!(cluster = %self.cluster, "cannot reach the workload cluster: {}", clean(why));
            self.wake_all();
        }
    }

    fn wake_all(&self) {
        let of_cluster = self.around.machines.of_cluster(self.cluster);
        of_cluster
            .into_iter()
            .for_each(|key| self.around.queue.add(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_in_smaller_pages_may_take_longer() {
        let long = LISTING * SMALL_PAGES;
        assert_eq!(PAGES.map(listing), [LISTING, long, long]);
    }

    #[test]
    fn pages_that_are_too_long_become_smaller_down_to_one_node() {
        let pages = std::iter::successors(Some(PAGES[0]), |page| Some(smaller(*page)));
        assert_eq!(pages.take(5).collect::<Vec<_>>(), [100, 10, 1, 1, 1]);
    }
}

//! The versions of a workload cluster: of its control plane's Nodes, and of the API server that
//! answers. That server may change: a watch that times out restarts behind the load balancer, on
//! the same connection to the cluster, and nothing reports it.

use std::sync::Arc;

use upgrade::Version;

use super::{ClusterState, State};
use crate::engine::Server;

impl State {
    /// If the servers of the API changed, the version that the server once reported may be
    /// outdated.
    pub(super) fn doubt_if(&self, other: bool) {
        if other {
            self.doubted.notify_one();
        }
    }

    fn oldest_node<'a>(&self, others: impl Iterator<Item = &'a str>) -> Option<Server> {
        let labelled = self.control_plane.iter();
        let labelled = labelled.filter_map(|name| self.nodes.get(name));
        let nodes = labelled.chain(others.filter_map(|name| self.nodes.get(name)));
        let servers = nodes.filter_map(|node| {
            Some(Server {
                version: node.kubelet.parse().ok()?,
                node: Some(node.name.clone()),
                machine: None,
            })
        });
        servers.min_by(Server::order)
    }
}

impl ClusterState {
    /// The oldest version that may serve the API: of the server that answered, of every Node
    /// labelled as control plane, and of the Nodes that the caller adds. The caller knows their
    /// Machines.
    #[must_use]
    pub fn oldest<'a>(&self, others: impl Iterator<Item = &'a str>) -> Option<Server> {
        self.read(|state| {
            let server = state.link.as_ref().and_then(|link| link.server.clone());
            let server = server.map(Server::somewhere);
            let all = state.oldest_node(others).into_iter().chain(server);
            all.min_by(Server::order)
        })
    }

    /// Like [`Self::oldest`], without the version that the server reported.
    #[must_use]
    pub fn oldest_node<'a>(&self, others: impl Iterator<Item = &'a str>) -> Option<Server> {
        self.read(|state| state.oldest_node(others))
    }

    /// Asks the server for its version again soon.
    pub fn doubt(&self) {
        self.write(|state| state.doubt_if(true));
    }

    /// Waits until the server's version is doubted.
    pub async fn until_doubted(&self) {
        let doubted = self.read(|state| Arc::clone(&state.doubted));
        doubted.notified().await;
    }

    /// Records the version that the server reports now. Returns whether it is new.
    pub fn serves(&self, version: &Version) -> bool {
        self.write(|state| {
            let Some(link) = &mut state.link else {
                return false;
            };
            let news = link.server.as_ref() != Some(version);
            link.server = Some(version.clone());
            news
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use kube::Client;
    use requests::{NodeFacts, StaticPod};

    use super::*;
    use crate::clusters::Link;

    fn node(name: &str, kubelet: &str, resource_version: &str) -> NodeFacts {
        NodeFacts {
            name: name.into(),
            kubelet: kubelet.into(),
            resource_version: resource_version.into(),
            control_plane: name.starts_with("cp"),
            ..NodeFacts::default()
        }
    }

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    /// A visible cluster with these Nodes and a server of v1.35.4.
    fn seen(nodes: Vec<NodeFacts>) -> ClusterState {
        let state = ClusterState::default();
        let config = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
        let link = Link {
            client: Client::try_from(config).unwrap(),
            server: Some(version("v1.35.4")),
        };
        state.live(link, nodes, 0);
        state
    }

    /// Whether the server's version is doubted. Clears the doubt.
    fn is_doubted(state: &ClusterState) -> bool {
        state.until_doubted().now_or_never().is_some()
    }

    #[tokio::test]
    async fn oldest_version_is_the_servers_or_a_control_plane_nodes() {
        let state = seen(vec![
            node("cp", "v1.36.3", "1"),
            node("worker", "v1.30.1", "1"),
        ]);
        let none = std::iter::empty;
        let told = |oldest: Option<Server>| {
            let Server { version, node, .. } = oldest.unwrap();
            (version.to_string(), node)
        };
        let of = |version: &str, node: Option<&str>| (version.to_owned(), node.map(str::to_owned));
        assert_eq!(told(state.oldest(none())), of("v1.35.4", None));
        let cp = of("v1.36.3", Some("cp"));
        assert_eq!(told(state.oldest_node(none())), cp);
        assert!(state.serves(&version("v1.37.0")), "it is news");
        assert!(!state.serves(&version("v1.37.0")));
        assert_eq!(told(state.oldest(none())), cp);
        state.serves(&version("v1.36.3"));
        assert_eq!(told(state.oldest(none())), cp, "of equal ones the Node");
        let known = || ["worker"].into_iter();
        assert_eq!(told(state.oldest(known())), of("v1.30.1", Some("worker")));
    }

    #[tokio::test]
    async fn server_version_is_doubted_when_control_plane_nodes_change() {
        let state = seen(vec![node("cp", "v1.35.4", "1"), node("w", "v1.35.4", "1")]);
        assert!(!is_doubted(&state), "it was asked just now");
        state.put(node("w", "v1.36.3", "2"));
        state.put(NodeFacts {
            ready: true,
            ..node("cp", "v1.35.4", "2")
        });
        assert!(!is_doubted(&state), "that says nothing of it");
        state.put(node("cp", "v1.36.3", "3"));
        assert!(is_doubted(&state));
        state.put(node("cp-2", "v1.36.3", "4"));
        assert!(is_doubted(&state));
        state.remove("w");
        assert!(!is_doubted(&state));
        state.remove("cp");
        assert!(is_doubted(&state));
    }

    #[tokio::test]
    async fn server_version_is_doubted_when_an_apiserver_pod_changes() {
        let state = seen(Vec::new());
        let pod = |component: &str, version: &str, ready: bool| {
            let pod = StaticPod {
                component: component.into(),
                version: Some(version.into()),
                ready,
            };
            (component.to_owned(), "cp".to_owned(), pod)
        };
        let old = || pod("kube-apiserver", "v1.35.4", true);
        state.replace_pods(vec![old()]);
        state.replace_pods(vec![old()]);
        state.put_pod(old());
        state.put_pod(pod("kube-scheduler", "v1.36.3", true));
        assert!(!is_doubted(&state));
        state.put_pod(pod("kube-apiserver", "v1.36.3", false));
        assert!(is_doubted(&state));
        state.put_pod(pod("kube-apiserver", "v1.36.3", true));
        assert!(is_doubted(&state), "now it serves");
        state.remove_pod("kube-scheduler");
        assert!(!is_doubted(&state));
        state.replace_pods(vec![old()]);
        assert!(is_doubted(&state), "behind a gap");
    }
}

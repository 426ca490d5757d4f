//! Which pods have containers that run. The API server may not know all of them: it forgets a pod
//! that somebody deletes by force, and the kubelet still has its grace period to end it.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use super::grpc::{Client, Error};
use super::messages::{
    Container, ContainerFilter, ContainerState, ContainerStateValue, ContainersRequest,
    ContainersResponse, ListRequest, ListResponse, Sandbox,
};

/// The kubelet's labels of a container (k8s.io/kubelet, pkg/types/labels.go).
const UID: &str = "io.kubernetes.pod.uid";
const NAME: &str = "io.kubernetes.pod.name";
const NAMESPACE: &str = "io.kubernetes.pod.namespace";

/// The kubelet's annotation of a container, from which it ends the containers of a pod that it has
/// forgotten (kubernetes, pkg/kubelet/kuberuntime/labels.go).
const GRACE: &str = "io.kubernetes.pod.terminationGracePeriod";

/// The kubelet's annotation of a sandbox: where the pod comes from (kubernetes,
/// pkg/kubelet/types/pod_update.go).
const SOURCE: &str = "kubernetes.io/config.source";

/// The source of pods that are not static.
const API_SERVER: &str = "api";

/// What a line has where the grace period is not known.
const NOT_KNOWN: &str = "-";

/// A pod of the API server with a container that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunningPod {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Its UID.
    pub uid: String,
    /// Its grace period in seconds, if the runtime has noted it.
    pub grace: Option<u64>,
}

impl fmt::Display for RunningPod {
    /// As a line across the border of the process.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grace = self.grace.map(|seconds| seconds.to_string());
        let grace = grace.as_deref().unwrap_or(NOT_KNOWN);
        let (uid, namespace, name) = (&self.uid, &self.namespace, &self.name);
        write!(f, "{uid} {grace} {namespace}/{name}")
    }
}

impl FromStr for RunningPod {
    type Err = ();

    fn from_str(line: &str) -> Result<Self, ()> {
        let mut words = line.split(' ');
        let (uid, grace, pod) = (words.next(), words.next(), words.next());
        let (uid, grace, pod) = (uid.ok_or(())?, grace.ok_or(())?, pod.ok_or(())?);
        let (namespace, name) = pod.split_once('/').ok_or(())?;
        Ok(Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: uid.to_owned(),
            grace: match grace {
                NOT_KNOWN => None,
                seconds => Some(seconds.parse().map_err(|_| ())?),
            },
        })
    }
}

/// The pods of which a container runs, as the runtime at this socket says, without static pods.
///
/// # Errors
/// The runtime does not answer.
pub async fn running_pods(socket: &Path) -> Result<Vec<RunningPod>, Error> {
    let client = Client::connect(socket).await?;
    let state = ContainerState::Running.into();
    let filter = Some(ContainerFilter {
        state: Some(ContainerStateValue { state }),
    });
    let request = ContainersRequest { filter };
    let found: ContainersResponse = client.call("ListContainers", &request).await?;
    let all = ListRequest { filter: None };
    let sandboxes: ListResponse = client.call("ListPodSandbox", &all).await?;
    Ok(pods(&found.containers, &sandboxes.items))
}

/// One for each pod. A sandbox or a container that is not the kubelet's has no such labels.
fn pods(containers: &[Container], sandboxes: &[Sandbox]) -> Vec<RunningPod> {
    let sources: HashMap<_, _> = sandboxes
        .iter()
        .filter_map(|sandbox| Some((sandbox.id.as_str(), sandbox.annotations.get(SOURCE)?)))
        .collect();
    let of_the_server = |container: &&Container| {
        let source = sources.get(container.pod_sandbox_id.as_str());
        source.is_none_or(|source| source.as_str() == API_SERVER)
    };
    let running = containers
        .iter()
        .filter(|container| container.state() == ContainerState::Running);
    let found = running.filter(of_the_server).filter_map(pod);
    let by_uid: BTreeMap<_, _> = found.map(|pod| (pod.uid.clone(), pod)).collect();
    by_uid.into_values().collect()
}

fn pod(container: &Container) -> Option<RunningPod> {
    let label = |key| container.labels.get(key).cloned();
    let grace = container.annotations.get(GRACE);
    Some(RunningPod {
        namespace: label(NAMESPACE)?,
        name: label(NAME)?,
        uid: label(UID)?,
        grace: grace.and_then(|seconds| seconds.parse().ok()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(sandbox: &str, state: ContainerState, grace: Option<&str>) -> Container {
        let own = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        let uid = format!("uid-{sandbox}");
        let labels = [(UID, uid.as_str()), (NAME, "db-0"), (NAMESPACE, "shop")];
        let grace = grace.map(|seconds| (GRACE, seconds));
        Container {
            pod_sandbox_id: sandbox.to_owned(),
            state: state.into(),
            labels: labels.map(own).into(),
            annotations: grace.map(own).into_iter().collect(),
        }
    }

    fn sandbox(id: &str, source: &str) -> Sandbox {
        Sandbox {
            id: id.to_owned(),
            annotations: HashMap::from([(SOURCE.to_owned(), source.to_owned())]),
        }
    }

    fn uids(pods: &[RunningPod]) -> Vec<&str> {
        pods.iter().map(|pod| pod.uid.as_str()).collect()
    }

    #[test]
    fn pod_with_a_running_container_is_found_once_with_its_grace() {
        use ContainerState::{Created, Exited, Running, Unknown};
        let containers = [
            container("a", Exited, None),
            container("a", Running, Some("600")),
            container("a", Running, Some("600")),
            container("b", Exited, Some("600")),
            container("c", Created, Some("600")),
            container("d", Unknown, Some("600")),
            container("e", Running, None),
        ];
        let found = pods(&containers, &[sandbox("a", "api")]);
        assert_eq!(uids(&found), ["uid-a", "uid-e"]);
        assert_eq!((found[0].grace, found[1].grace), (Some(600), None));
    }

    #[test]
    fn static_pods_and_containers_of_others_are_left_out() {
        let running = |sandbox| container(sandbox, ContainerState::Running, None);
        let mut foreign = running("foreign");
        foreign.labels.clear();
        let containers = [running("api"), running("file"), running("http"), foreign];
        let sandboxes = ["api", "file", "http"].map(|source| sandbox(source, source));
        assert_eq!(uids(&pods(&containers, &sandboxes)), ["uid-api"]);
    }

    #[test]
    fn running_pod_survives_the_process_boundary() {
        for grace in [Some(600), None] {
            let pod = RunningPod {
                namespace: "shop".to_owned(),
                name: "db-0".to_owned(),
                uid: "153b7a61-28b4-11e9-afc4-16bf8ef8d9dc".to_owned(),
                grace,
            };
            assert_eq!(pod.to_string().parse(), Ok(pod));
        }
        for cut in ["", "uid", "uid 30", "uid x shop/db-0", "uid 30 db-0"] {
            assert_eq!(cut.parse::<RunningPod>(), Err(()), "{cut}");
        }
    }
}

//! Starts a pod sandbox at the container runtime, as the kubelet does for each pod, and removes it.
//! It shows what no greeting shows: the image of the sandbox is there or can be pulled, the runtime
//! can start it, and a pod gets an address. It also asks the runtime which pods run.
//!
//! This runs as a process of its own (`careen-deploy probe-sandbox` and `running-pods`), so that
//! the daemon holds nothing of it, and so that a runtime that hangs has a time limit.

#![deny(clippy::wildcard_enum_match_arm)]

mod config;
mod grpc;
mod images;
mod messages;
mod network;
mod outcome;
mod plugins;
mod running;

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use config::LABEL;
use grpc::Client;
pub use grpc::Error;
pub use images::missing as missing_images;
use messages::{
    Filter, Id, ListRequest, ListResponse, Nothing, RunRequest, SandboxStatusResponse, State,
    StatusRequest, StatusResponse,
};
pub use network::Network;
pub use outcome::Outcome;
use outcome::judge;
pub use plugins::lacks_a_plugin;
pub use running::{RunningPod, running_pods};

/// The condition of a runtime that has a network for pods (k8s.io/cri-api, `constants.go`).
const NETWORK_READY: &str = "NetworkReady";

/// Asks the runtime at this socket. `network`: whether the sandbox must get an address. `root` is
/// the root of the system whose cgroups are used.
pub async fn probe(socket: &Path, network: bool, root: &Path) -> Outcome {
    match Probe::connect(socket, root).await {
        Ok(probe) => probe.run(network).await,
        Err(error) => Outcome::Unknown(format!("{}: {error}", socket.display())),
    }
}

/// A connection to a runtime, for sandboxes of ours.
pub struct Probe {
    client: Client,
    root: PathBuf,
}

impl Probe {
    /// Connects to this socket. `root` is the root of the system whose cgroups are used.
    ///
    /// # Errors
    /// Nobody listens, or does not speak HTTP/2.
    pub async fn connect(socket: &Path, root: &Path) -> Result<Self, Error> {
        let client = Client::connect(socket).await?;
        let root = root.to_owned();
        Ok(Self { client, root })
    }

    async fn run(&self, network: bool) -> Outcome {
        self.remove_leftovers().await;
        if !network {
            return judge(self.starts(Network::Node).await, Ok(()));
        }
        match self.in_a_network().await {
            Ok(()) => Outcome::Starts,
            Err(error) => judge(self.starts(Network::Node).await, Err(error)),
        }
    }

    async fn in_a_network(&self) -> Result<(), Error> {
        self.network_is_ready().await?;
        self.starts(Network::Own).await
    }

    /// Without a network of its own the runtime waits for nothing, and its message says what is
    /// missing.
    async fn network_is_ready(&self) -> Result<(), Error> {
        let answer: StatusResponse = self.client.call("Status", &StatusRequest {}).await?;
        let mut conditions = answer.status.unwrap_or_default().conditions.into_iter();
        let unready = conditions.find(|found| found.r#type == NETWORK_READY && !found.status);
        unready.map_or(Ok(()), |found| {
            Err(unready_with(format!("{}: {}", found.reason, found.message)))
        })
    }

    /// Starts a sandbox in this network, and always removes it.
    async fn starts(&self, network: Network) -> Result<(), Error> {
        let id = self.start(network).await?;
        let sandbox = Id { id };
        let has_address = match network {
            Network::Own => self.has_address(&sandbox).await,
            Network::Node => Ok(()),
        };
        self.remove(&sandbox).await;
        has_address
    }

    /// Starts a sandbox in this network, and returns its id.
    ///
    /// # Errors
    /// The runtime does not start it.
    pub async fn start(&self, network: Network) -> Result<String, Error> {
        let config = Some(config::of(network, &self.root));
        let request = RunRequest { config };
        let sandbox: Id = self.client.call("RunPodSandbox", &request).await?;
        Ok(sandbox.id)
    }

    /// A sandbox that somebody has stopped had started: the kubelet stops sandboxes of pods that it
    /// does not know (kubernetes, `pkg/kubelet/kubelet_pods.go`, `HandlePodCleanups`).
    async fn has_address(&self, sandbox: &Id) -> Result<(), Error> {
        let seen = self.client.call("PodSandboxStatus", sandbox).await;
        let seen: SandboxStatusResponse = match seen {
            Err(error) if error.is_not_found() => return Ok(()),
            other => other?,
        };
        let status = seen.status.unwrap_or_default();
        let has_ended = status.state() == State::NotReady;
        if has_ended || status.network.is_some_and(|network| !network.ip.is_empty()) {
            return Ok(());
        }
        Err(unready_with("the sandbox got no address".to_owned()))
    }

    async fn remove_leftovers(&self) {
        let (name, value) = LABEL;
        let labels = HashMap::from([(name.to_owned(), value.to_owned())]);
        let filter = Some(Filter { labels });
        let found = self
            .client
            .call("ListPodSandbox", &ListRequest { filter })
            .await;
        let found: ListResponse = found.unwrap_or_default();
        for sandbox in found.items {
            self.remove(&Id { id: sandbox.id }).await;
        }
    }

    /// What cannot be removed, the kubelet removes. It decides nothing.
    async fn remove(&self, sandbox: &Id) {
        for method in ["StopPodSandbox", "RemovePodSandbox"] {
            let done: Result<Nothing, Error> = self.client.call(method, sandbox).await;
            if let Err(error) = done
                && !error.is_not_found()
            {
                tracing::debug!("{method} of {}: {error}", sandbox.id);
            }
        }
    }
}

fn unready_with(message: String) -> Error {
    // The code of gRPC for what does not hold yet (FAILED_PRECONDITION).
    Error::Refused { code: 9, message }
}

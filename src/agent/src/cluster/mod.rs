//! The API server through the kubelet's credential: one handle for all requests, and the one watch.

pub mod certificate;
pub mod credential;
pub mod doubt;
pub mod error;
pub mod marks;
pub mod seen;
pub mod watch;

use std::future::Future;
use std::path::Path;
use std::time::Duration;

use client::Node;
use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use kube::api::{Api, PostParams};
use kube::{Client, Resource};
use tokio::sync::Mutex;
use tokio::time::Instant;

use credential::Credential;
pub use error::{ApiError, refused, undrained};

/// How long a connection may be silent. The server sends the watch a bookmark about every 60 s, so
/// a longer silence is a dead link. TCP alone would not notice that for a quarter of an hour.
pub const SILENCE: Duration = Duration::from_secs(100);

/// How long the answer to one read may take. Only the watch has no such limit.
const ANSWER: Duration = Duration::from_secs(10);

/// How long the answer to one write may take. A write passes admission webhooks, of which each may
/// take 10 s by default and 30 s at most. The server itself gives up a write after 34 s (kubernetes,
/// apiserver/pkg/endpoints/handlers/rest.go, `requestTimeoutUpperBound`). An agent that gives up
/// earlier meets the same webhook with each try, also one that the server would pass over.
pub const ADMISSION: Duration = Duration::from_secs(40);

/// How many connections are asked for the version. Of two servers that take turns each is met, and
/// of two that are drawn, one is missed once in sixteen times.
const CONNECTIONS: usize = 5;

/// When this time is over, no further connection is asked for the version.
const ROUND: Duration = Duration::from_secs(20);

/// The prefix that the Node authorizer puts before the node's name.
const USER_PREFIX: &str = "system:node:";

/// The API server, reached as the kubelet.
pub struct Cluster {
    credential: Mutex<Credential>,
}

impl Cluster {
    /// Does not connect yet. `silence` is how long a connection may be silent until it counts as
    /// dead.
    #[must_use]
    pub fn new(kubeconfig: &Path, silence: Duration) -> Self {
        Self {
            credential: Mutex::new(Credential::new(kubeconfig, silence)),
        }
    }

    /// A client with the current credential on the disk.
    ///
    /// # Errors
    /// [`ApiError::Away`] if the credential cannot be read.
    pub async fn client(&self) -> Result<Client, ApiError> {
        self.credential.lock().await.client().await
    }

    /// The number of the current credential on the disk, which grows when the credential is
    /// replaced.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn credential_number(&self) -> Result<u64, ApiError> {
        self.credential.lock().await.number().await
    }

    /// The API of Nodes.
    ///
    /// # Errors
    /// As [`Self::client`].
    pub async fn nodes(&self) -> Result<Api<Node>, ApiError> {
        Ok(client::nodes(self.client().await?))
    }

    /// The name of the Node that this credential belongs to, as the API server understands it.
    /// (Host name and Node name may differ.)
    ///
    /// # Errors
    /// [`ApiError::Refused`] if the credential does not belong to a node.
    pub async fn node_name(&self) -> Result<String, ApiError> {
        let reviews: Api<SelfSubjectReview> = Api::all(self.client().await?);
        let review = SelfSubjectReview::default();
        let answer = admitted(reviews.create(&PostParams::default(), &review)).await?;
        let user = answer
            .status
            .and_then(|status| status.user_info)
            .and_then(|user| user.username);
        let user = user.unwrap_or_default();
        user.strip_prefix(USER_PREFIX)
            .map(str::to_owned)
            .ok_or_else(|| {
                let kind = SelfSubjectReview::kind(&());
                ApiError::Refused(format!(
                    "the credential is for {user:?}, not for a node ({kind})"
                ))
            })
    }

    /// The lowest version of the API servers behind the one address. While a control plane is
    /// upgraded its members differ, and a load balancer gives each connection to one of them. A
    /// kubelet may meet any.
    ///
    /// # Errors
    /// None of them answers with a version.
    pub async fn version(&self) -> Result<upgrade::Version, ApiError> {
        let end = Instant::now() + ROUND;
        let mut found = self.version_of_one().await;
        for _ in 1..CONNECTIONS {
            if Instant::now() >= end {
                break;
            }
            found = lowest(found, self.version_of_one().await);
        }
        found
    }

    /// The version that a connection of its own leads to. The connection is closed before the next
    /// one is made: five at a time doubled the memory that an idle agent keeps.
    async fn version_of_one(&self) -> Result<upgrade::Version, ApiError> {
        let client = self.credential.lock().await.apart().await?;
        let info = limited(client.apiserver_version()).await?;
        info.git_version
            .parse()
            .map_err(|bad: upgrade::Malformed| ApiError::Away(bad.to_string()))
    }
}

fn lowest(
    found: Result<upgrade::Version, ApiError>,
    said: Result<upgrade::Version, ApiError>,
) -> Result<upgrade::Version, ApiError> {
    match (found, said) {
        (Err(_), said) => said,
        (Ok(lowest), Ok(said)) if said.is_older_than(&lowest) => Ok(said),
        (Ok(lowest), Ok(_) | Err(_)) => Ok(lowest),
    }
}

/// One read, with a limit on the time of its answer.
///
/// # Errors
/// As the request, and [`ApiError::Away`] if no answer came.
pub async fn limited<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ApiError> {
    client::in_time(ANSWER, request).await
}

/// One write, with the time that admission may take.
///
/// # Errors
/// As [`limited`].
pub async fn admitted<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ApiError> {
    client::in_time(ADMISSION, request).await
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    use tokio::net::TcpListener;

    use super::*;

    /// API servers of these versions, which get one connection after the other.
    async fn servers(versions: &'static [&'static str]) -> (tempfile::TempDir, Cluster) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            for version in versions.iter().cycle() {
                let (mut stream, _) = listener.accept().await.unwrap();
                tokio::spawn(async move {
                    let mut request = [0; 1024];
                    while stream.read(&mut request).await.is_ok_and(|read| read > 0) {
                        let _ = stream.write_all(answer(version).as_bytes()).await;
                    }
                });
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("kubelet.conf");
        let text = format!(
            "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
             clusters: [{{name: c, cluster: {{server: 'http://{address}'}}}}]\n\
             users: [{{name: c, user: {{}}}}]\n\
             contexts: [{{name: c, context: {{cluster: c, user: c}}}}]\n"
        );
        std::fs::write(&path, text).unwrap();
        let cluster = Cluster::new(&path, SILENCE);
        (folder, cluster)
    }

    fn answer(version: &str) -> String {
        let fields = [
            "major",
            "minor",
            "gitCommit",
            "gitTreeState",
            "buildDate",
            "goVersion",
            "compiler",
            "platform",
        ];
        let fields = fields.map(|field| format!("\"{field}\":\"\","));
        let body = format!("{{{}\"gitVersion\":\"{version}\"}}", fields.concat());
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    }

    #[tokio::test]
    async fn of_servers_that_differ_the_lowest_counts() {
        for (versions, lowest) in [
            (&["v1.36.3"][..], "v1.36.3"),
            (&["v1.36.3", "v1.35.4"], "v1.35.4"),
            (&["v1.36.3", "v1.36.3", "no version", "v1.35.4"], "v1.35.4"),
        ] {
            let (_folder, cluster) = servers(versions).await;
            assert_eq!(cluster.version().await.unwrap().to_string(), lowest);
        }
        let (_folder, cluster) = servers(&["no version"]).await;
        assert!(cluster.version().await.is_err());
    }
}

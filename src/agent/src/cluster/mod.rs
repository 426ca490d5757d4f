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

use credential::Credential;
pub use error::{ApiError, refused, undrained};

/// How long a connection may be silent. The server sends the watch a bookmark about every 60 s, so
/// a longer silence is a dead link. TCP alone would not notice that for a quarter of an hour.
pub const SILENCE: Duration = Duration::from_secs(100);

/// How long the answer to one request may take. Only the watch has no such limit.
const ANSWER: Duration = Duration::from_secs(10);

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
        let answer = limited(reviews.create(&PostParams::default(), &review)).await?;
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

    /// The API server's version.
    ///
    /// # Errors
    /// The server does not answer, or its answer is not a version.
    pub async fn version(&self) -> Result<upgrade::Version, ApiError> {
        let client = self.client().await?;
        let info = limited(client.apiserver_version()).await?;
        info.git_version
            .parse()
            .map_err(|bad: upgrade::Malformed| ApiError::Away(bad.to_string()))
    }
}

/// One request, with a limit on the time of its answer.
///
/// # Errors
/// As the request, and [`ApiError::Away`] if no answer came.
pub async fn limited<T>(request: impl Future<Output = kube::Result<T>>) -> Result<T, ApiError> {
    client::in_time(ANSWER, request).await
}

//! The health of a trial.

use crate::cause::{Cause, Causes};

/// One health check. A check that could not run never counts as failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// It passes.
    Pass,
    /// Not known or not done yet.
    Pending(String),
    /// It fails now but may pass later.
    Fail(String),
    /// It fails and will not pass later.
    Broken(String),
}

/// The health of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The container runtime answers.
    pub runtime: Check,
    /// The kubelet's healthz answers.
    pub kubelet: Check,
    /// The container runtime starts a pod sandbox in the node's own network.
    pub sandbox: Check,
    /// The kubelet's client certificate has not expired by this machine's clock. It fails only if
    /// the agent has seen an expired certificate. Checked while the kubelet is not healthy.
    pub credential: Check,
    /// `kubeadm upgrade node` has succeeded for this upgrade. Needs the API server.
    pub kubeadm: Check,
    /// The Node is Ready with this boot's id. Needs the API server.
    pub ready: Check,
    /// The Node's kubeletVersion is the image's. Needs the API server.
    pub version: Check,
    /// A pod sandbox gets an address. It may need the API server, because many network plugins run
    /// as pods.
    pub pod_network: Check,
    /// Checks of `required.d`, by file name.
    pub required: Vec<(String, Check)>,
    /// Where the cause is of what does not pass.
    pub causes: Causes,
}

impl Health {
    /// The health before any check has run.
    #[must_use]
    pub fn unknown() -> Self {
        let pending = || Check::Pending("not checked yet".to_owned());
        Self {
            runtime: pending(),
            kubelet: pending(),
            sandbox: pending(),
            credential: pending(),
            kubeadm: pending(),
            ready: pending(),
            version: pending(),
            pod_network: pending(),
            required: Vec::new(),
            causes: Causes::default(),
        }
    }
}

impl Health {
    /// The cause of the required check at this place.
    #[must_use]
    pub fn required_cause(&self, place: usize) -> Cause {
        self.causes.required.get(place).copied().unwrap_or_default()
    }
}

//! The health of a trial.

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
    /// The kubelet's client certificate has not expired by this machine's clock. It fails only if
    /// the agent has seen an expired certificate. Checked while the kubelet is not healthy.
    pub credential: Check,
    /// `kubeadm upgrade node` has succeeded for this upgrade. Needs the API server.
    pub kubeadm: Check,
    /// The Node is Ready with this boot's id. Needs the API server.
    pub ready: Check,
    /// The Node's kubeletVersion is the image's. Needs the API server.
    pub version: Check,
    /// Checks of `required.d`, by file name.
    pub required: Vec<(String, Check)>,
}

impl Health {
    /// The health before any check has run.
    #[must_use]
    pub fn unknown() -> Self {
        let pending = || Check::Pending("not checked yet".to_owned());
        Self {
            runtime: pending(),
            kubelet: pending(),
            credential: pending(),
            kubeadm: pending(),
            ready: pending(),
            version: pending(),
            required: Vec::new(),
        }
    }
}

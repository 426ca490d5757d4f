//! The health of a trial.

/// One health check. "Could not check" is never "bad".
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Check {
    /// It holds.
    Pass,
    /// Not yet known, or not yet done.
    Pending(String),
    /// It does not hold now; it may yet.
    Fail(String),
    /// It does not hold and is not going to.
    Broken(String),
}

/// The health of a trial.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Health {
    /// The container runtime answers.
    pub runtime: Check,
    /// The kubelet's healthz answers.
    pub kubelet: Check,
    /// The kubelet's client certificate has not run out by this machine's clock; fails only when that was seen. Looked at while the
    /// kubelet is not healthy.
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
    /// Nothing is known yet.
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

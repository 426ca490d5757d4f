//! What to do about a reason: the form of an advice, and each advice that several reasons share.

/// How to continue after the first step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Then {
    /// Repeat the request.
    Retry,
    /// Request something else.
    Another,
    /// Either of the two.
    Either,
    /// No request is needed.
    Nothing,
}

/// The advice for a reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advice {
    /// The first step.
    pub first: &'static str,
    /// The step after it.
    pub then: Then,
}

impl Advice {
    /// This step, and then that one.
    #[must_use]
    pub const fn new(first: &'static str, then: Then) -> Self {
        Self { first, then }
    }
}

pub(super) const LOOK_AT_TRIAL: Advice = Advice::new(
    "read the trial's journal with `journalctl -b -1` on the node (it needs /var/log/journal), and fix what the sentence above blames; only an image to blame is remembered and not tried again unasked",
    Then::Either,
);
pub(super) const LOOK_AT_DRAIN: Advice = Advice::new(
    "the node was uncordoned and has not rebooted: fix the problem with the pod or the budget named above",
    Then::Retry,
);
pub(super) const LOOK_AT_REQUEST: Advice =
    Advice::new("correct what the sentence above names", Then::Another);
pub(super) const LOOK_AT_IMAGE: Advice = Advice::new(
    "build or choose an image that has what the sentence above names",
    Then::Another,
);
pub(super) const LOOK_AT_REMOTE: Advice = Advice::new(
    "check the remote named above: its url and keys under /etc/ostree/remotes.d on the node; for a container image also the \
     credentials and mirrors in /etc/containers and registry.signed-by in /etc/careen/policy.toml",
    Then::Retry,
);
pub(super) const LOOK_AT_DISK: Advice = Advice::new(
    "check the node's disk: `df -h / /boot`, `journalctl -u careen-agent` and `journalctl -k`",
    Then::Retry,
);
pub(super) const LOOK_AT_POLICY: Advice = Advice::new(
    "correct /etc/careen/policy.toml on the node, or ask for an image that it allows",
    Then::Either,
);
pub(super) const LOOK_AT_VERSIONS: Advice = Advice::new(
    "upgrade in the order of the version skew policy: first the control plane, then the nodes",
    Then::Either,
);
pub(super) const LOOK_AT_SERVER: Advice =
    Advice::new("check that the node reaches the API server", Then::Retry);
pub(super) const LOOK_AT_NODE: Advice = Advice::new(
    "check the node: `careen-agent record` prints what it was doing, `ostree admin status` lists its systems; fix what the sentence above names",
    Then::Retry,
);

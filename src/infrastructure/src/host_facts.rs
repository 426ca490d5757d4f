//! What a decision on one host is based on, and what it may write.

use crate::claim::Claim;
use crate::facts::Node;
use crate::host::Host;
use crate::policy::Policy;

/// A HostRegistration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registration {
    /// Its hosts are let in without a person.
    pub auto_approve: bool,
    /// How the names of its hosts begin.
    pub name_prefix: String,
    /// How many hosts it lets in.
    pub max_hosts: usize,
    /// How many are in.
    pub approved: usize,
}

/// Whether a machine has the claim of a host, read from the API server and not from a cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Holder {
    /// It was not read.
    Unread,
    /// A machine names this host and this claim.
    Machine,
    /// There is no machine of that name, or it names another host or claim.
    Nobody,
}

/// The pods of an orphan's Node that must leave it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct PodsLeft {
    /// How many seconds ago they were listed, and asked to leave.
    pub ago: i64,
    /// How many there were.
    pub left: usize,
    /// What holds the first one that is held.
    pub held: Option<String>,
}

/// All input of one decision on a host.
pub struct HostFacts<'a> {
    /// Seconds since 1970.
    pub now: i64,
    /// The host, read from the API server.
    pub host: &'a Host,
    /// Since when a person's word about it is seen.
    pub word_since: Option<i64>,
    /// Its registration.
    pub registration: Option<&'a Registration>,
    /// Its ServiceAccount, Role, Secret and Lease exist.
    pub has_account: bool,
    /// For how many seconds a token is where it looks for one.
    pub handed_over: Option<i64>,
    /// When its Lease was renewed last, by its own clock: it had its token then.
    pub renewed_at: Option<i64>,
    /// Who has its claim: the one in its spec, or else the one that it says it has joined by.
    pub holder: Holder,
    /// The Cluster of the claim is paused.
    pub paused: bool,
    /// For how many seconds careen-provider leads with all lists complete.
    pub leads_for: i64,
    /// How many hosts of the namespace are orphans, with this one, and how many have a claim.
    pub orphans: (usize, usize),
    /// The Node of an orphan, by its provider id. It is looked for only where the operator has
    /// switched on the release without a person.
    pub node: Option<&'a Node>,
    /// What a person has paused, the host or that Node, and by which key.
    pub left_alone: Option<&'a str>,
    /// The pods of that Node, once they were asked to leave.
    pub pods: Option<&'a PodsLeft>,
    /// The limits.
    pub policy: &'a Policy,
}

/// A write. Each states the version of the host that the decision is based on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostAct {
    /// Let it in, with the labels and the failure domain of its registration, and our finalizer.
    Approve,
    /// Add our finalizer.
    AddFinalizer,
    /// Remove it.
    RemoveFinalizer,
    /// Make its ServiceAccount, Role, Secret and Lease.
    MakeAccount,
    /// Put a token where it looks for one.
    HandOver,
    /// Remove that token, which the host has taken or does not need.
    EndHandover,
    /// Remove the claim: the host is clean.
    RemoveClaim {
        /// It was given up once. A person looks at it before it is used again.
        cordon: bool,
    },
    /// Cordon the Node of an orphan, and ask its pods to leave.
    Drain,
    /// Order the host to leave.
    Release,
    /// Put back the claim of this id, as an order to leave.
    PutOrder(Claim),
    /// Remember the first look at an orphan.
    MarkOrphan(String),
    /// It is no orphan.
    UnmarkOrphan,
    /// Name it an orphan, and cordon it.
    NameOrphan(String),
    /// Remove a person's word: the host has answered since.
    ForgetWord,
}

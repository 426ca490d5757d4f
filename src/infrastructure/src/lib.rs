//! The decisions of the infrastructure provider: which prepared host becomes which Machine of
//! Cluster API, and when a host is given back. Facts go in, one write and a reason come out. There
//! is no clock, file, process or network here.
//!
//! Two objects make a claim. A CareenMachine names its host and a random claim id. The CareenHost
//! carries the claim with the same id. Each write states the version of the object that it is based
//! on, so that of two leaders only one succeeds.
//!
//! - The host gets the bootstrap data only after its machine is committed to it. A committed
//!   machine never changes its host. So no machine has two hosts with data.
//! - A host has one claim. The claim goes when the host says that it is clean. So no host has two
//!   machines.
//! - The finalizer of a machine goes when its host says that the old kubelet cannot come back
//!   by the rule for lost hosts, or by a person's word.
//! - The absence of a claim is never an order to a host.

#![deny(clippy::wildcard_enum_match_arm)]

mod brake;
mod budget;
mod choose;
mod claim;
mod cluster;
mod decision;
mod drain;
mod facts;
mod give_back;
mod handover;
mod host;
mod host_decision;
mod host_facts;
mod host_why;
mod leave;
mod lost;
mod machine;
mod orphan;
mod policy;
mod pool;
mod pool_why;
mod quantity;
mod registration;
mod selector;
mod stage;
mod stray;
mod template;
mod tend;
mod unfit;
mod why;

pub use brake::{Braked, brake};
pub use budget::Budget;
pub use choose::{Choice, choose};
pub use claim::{Claim, HostRef, Release, Wanted, provider_id};
pub use cluster::{
    Cluster, ClusterAct, ClusterDecision, ClusterFacts, ClusterWhy, Domain, Endpoint, EndpointFrom,
    decide_cluster,
};
pub use decision::{Act, Decision, Failed};
pub use drain::{Attachment, DrainFacts, Moving, NextPods, PodToGo, Volume, next_pods};
pub use facts::{Data, Facts, Held, Machine, Node, Owner, OwnerCluster};
pub use host::Host;
pub use host_decision::HostDecision;
pub use host_facts::{Holder, HostAct, HostFacts, PodsLeft, Registration};
pub use host_why::HostWhy;
pub use life::Phase;
pub use machine::{AWAITS_DATA, decide};
pub use policy::Policy;
pub use pool::{Member, Pool, PoolAct, PoolShown, decide_pool};
pub use pool_why::PoolWhy;
pub use quantity::{Unreadable, amount};
pub use registration::{Counts, RegistrationAct, RegistrationFacts, decide_registration};
pub use selector::{Expression, Operator, Selector};
pub use stage::{Stage, Word, words};
pub use stray::{HostNode, NodeAct, look_at_node};
pub use template::{Expected, Wished, expected};
pub use tend::tend;
pub use unfit::{Refused, Unfit};
pub use why::{Class, Why};

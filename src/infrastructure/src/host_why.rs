//! Why a host waits. Each reason has a type, a stable word and one text.

use thiserror::Error;

/// What a host waits for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Error)]
#[allow(missing_docs)]
pub enum HostWhy {
    #[error("not claimed. No action is needed.")]
    Free,
    #[error("claimed by a CareenMachine. No action is needed.")]
    InUse,
    #[error("careen-provider is about to write the next step. No action is needed.")]
    Moving,
    #[error("not approved yet. Run kubectl careen host approve if it is your host.")]
    Unapproved,
    #[error(
        "its HostRegistration {registration} does not exist. Delete this host, or approve it by its name."
    )]
    NoRegistration { registration: String },
    #[error(
        "its name does not begin with {prefix:?}, as its HostRegistration asks. Delete this host, or approve it by its name."
    )]
    OtherPrefix { prefix: String },
    #[error(
        "its HostRegistration approves no more than {most} hosts. Change maxHosts, or delete hosts."
    )]
    RegistrationFull { most: usize },
    #[error("it was released and is not clean yet. No action is needed, unless it is off.")]
    Leaving,
    #[error(
        "it is being deleted while a CareenMachine claims it. Delete the Machine first; if the host is permanently off, annotate it with careen.dev/force-release: {claim}."
    )]
    DeletedInUse { claim: String },
    #[error("no CareenMachine has its claim {claim}. Wait for the second look.")]
    MayBeOrphan { claim: String },
    #[error(
        "no CareenMachine has its claim {claim}. Look at the host, then run kubectl careen host release."
    )]
    Orphan { claim: String },
    #[error(
        "no CareenMachine has its claim {claim}, and its node is drained before it is released. No action is needed."
    )]
    OrphanDraining { claim: String },
    #[error(
        "no CareenMachine has its claim {claim}, and the drain of its node does not end: {by}. Correct that, or run kubectl careen host release."
    )]
    OrphanHeld { claim: String, by: String },
    #[error(
        "no CareenMachine has its claim {claim}, and its node cannot be drained, because its Cluster cannot be reached: {detail}. Check that API server, or run kubectl careen host release."
    )]
    OrphanAway { claim: String, detail: String },
    #[error(
        "no CareenMachine has its claim {claim}, and it is not released, because a person has paused {what}. Remove the pause, or run kubectl careen host release."
    )]
    OrphanPaused { claim: String, what: String },
    #[error(
        "{orphans} of {of} hosts have a claim that no CareenMachine has. Check whether a backup was restored; release them by hand."
    )]
    ManyOrphans { orphans: usize, of: usize },
    #[error(
        "nobody checks whether a CareenMachine has its claim: the Cluster is paused, or careen-provider has just started. No action is needed."
    )]
    NotJudged,
}

life::codes! { HostWhy::code:
    Free InUse Moving Unapproved NoRegistration OtherPrefix RegistrationFull Leaving
    DeletedInUse MayBeOrphan Orphan OrphanDraining OrphanHeld OrphanAway OrphanPaused ManyOrphans NotJudged
}

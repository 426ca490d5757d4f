//! Decisions that are broken on purpose. The model must catch each, or it proves nothing.

/// What is broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mutant {
    /// Writes do not state the version that they are based on.
    NoVersions,
    /// The host gets the data of a machine that is not committed to it.
    DataWithoutCommitment,
    /// The finalizer goes when the host is ordered to leave.
    FinalizerWithTheOrder,
    /// A phase counts, whatever claim it belongs to.
    AnyPhaseIsFenced,
    /// The claim goes when the host is ordered to leave.
    ClaimWithTheOrder,
    /// A claim is written over another's.
    OverwritesClaims,
    /// A machine whose host has failed with its data chooses another one.
    ChoosesAgain,
    /// No machine is ever found for a claim.
    EverybodyIsAnOrphan,
    /// A host that answers is given up.
    GivesUpTheLiving,
    /// A machine that is late is given another host, whether it has a Node or not.
    LooksForNoNode,
}

/// Each mutant, and the exploration that catches it.
pub const ALL: [(Mutant, usize); 10] = [
    (Mutant::NoVersions, 0),
    (Mutant::DataWithoutCommitment, 1),
    (Mutant::FinalizerWithTheOrder, 3),
    (Mutant::AnyPhaseIsFenced, 3),
    (Mutant::ClaimWithTheOrder, 3),
    (Mutant::OverwritesClaims, 0),
    (Mutant::ChoosesAgain, 3),
    (Mutant::EverybodyIsAnOrphan, 5),
    (Mutant::GivesUpTheLiving, 3),
    (Mutant::LooksForNoNode, 4),
];

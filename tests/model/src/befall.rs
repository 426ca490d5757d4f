//! The faults that cannot befall a prepared host without a cluster.

use crate::fault::Fault;
use crate::world::State;

/// Whether the fault can befall this machine. A host has no Node that others could change.
#[must_use]
pub const fn can_befall(state: &State, fault: Fault) -> bool {
    !state.host
        || match fault {
            Fault::KubeadmFails
            | Fault::OlderServer
            | Fault::Pauses
            | Fault::Cordons
            | Fault::Uncordons
            | Fault::CordonComesBack
            | Fault::ExclusionComesBack
            | Fault::Sickens
            | Fault::Opens
            | Fault::Shuts
            | Fault::UnsetsTheClock
            | Fault::Plane(_) => false,
            Fault::Cut(_)
            | Fault::Kill
            | Fault::Dies
            | Fault::Fails(_)
            | Fault::PutBackFails
            | Fault::RestoreStaysOut
            | Fault::Server(_)
            | Fault::LosesTheAnswer
            | Fault::Asks(_)
            | Fault::Etc
            | Fault::Inhibits
            | Fault::Late(_)
            | Fault::OwnDefault
            | Fault::Stages
            | Fault::Imposes
            | Fault::Unpins
            | Fault::CleansUp
            | Fault::Picks(_) => true,
        }
}

//! The hooks of Cluster API that the provider serves.

/// The version of the hooks that the provider implements.
pub const API_VERSION: &str = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/// A hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Hook {
    /// Lists the hooks that the provider serves.
    Discovery,
    /// Whether one Machine of a control plane can be updated in place.
    CanUpdateMachine,
    /// Whether the Machines of a MachineSet can be updated in place.
    CanUpdateMachineSet,
    /// Starts the update, and reports its progress.
    UpdateMachine,
}

impl Hook {
    /// The name, as in the kinds of requests.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Discovery => "Discovery",
            Self::CanUpdateMachine => "CanUpdateMachine",
            Self::CanUpdateMachineSet => "CanUpdateMachineSet",
            Self::UpdateMachine => "UpdateMachine",
        }
    }

    /// The handler's name. Core appends the ExtensionConfig's name to it, but calls with only this
    /// one.
    #[must_use]
    pub const fn handler(self) -> &'static str {
        match self {
            Self::Discovery => "",
            Self::CanUpdateMachine => "can-update-machine",
            Self::CanUpdateMachineSet => "can-update-machineset",
            Self::UpdateMachine => "update-machine",
        }
    }
}

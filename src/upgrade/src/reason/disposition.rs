//! What follows from a reason.

use super::Reason;
use super::remedy::Disposition;
use super::wait::Wait;

/// The disposition, with waits separate from failures.
#[derive(Clone, Copy)]
enum Class {
    Waits(Wait),
    Failed(Disposition),
}

impl Reason {
    /// What to do about it.
    #[must_use]
    pub const fn disposition(&self) -> Disposition {
        match self.class() {
            Class::Waits(_) => Disposition::Retry,
            Class::Failed(disposition) => disposition,
        }
    }

    /// What the upgrade waits for, if the reason is a wait.
    #[must_use]
    pub const fn waits_for(&self) -> Option<Wait> {
        match self.class() {
            Class::Waits(wait) => Some(wait),
            Class::Failed(_) => None,
        }
    }

    const fn class(&self) -> Class {
        use Disposition::{Halt, Retry, RollBack};
        let disposition = match self {
            Self::Paused { .. } => return Class::Waits(Wait::Pause),
            Self::WindowClosed { .. } => return Class::Waits(Wait::Window),
            Self::Soaking { .. } => return Class::Waits(Wait::Soak),
            Self::ControlPlaneWaits { .. } => return Class::Waits(Wait::ControlPlane),
            Self::RemoteAway { .. }
            | Self::LockHeld { .. }
            | Self::DeployDied { .. }
            | Self::ApiAway { .. }
            | Self::SnapshotFailed { .. }
            | Self::ArmFailed { .. }
            | Self::RebootRefused { .. }
            | Self::Damaged { .. }
            | Self::Busy { .. }
            | Self::ApiAwayInTrial { .. }
            | Self::KubeadmFailed { .. }
            | Self::ControlFailed { .. }
            | Self::RaiseFailed { .. }
            | Self::HookFailed { .. }
            | Self::UnhealthyBefore { .. }
            | Self::RecordUnwritten { .. }
            | Self::MachineUnseen { .. }
            | Self::UnguardedBoot => Retry,
            Self::BadRequest { .. }
            | Self::BadPolicy { .. }
            | Self::LoaderUnfit { .. }
            | Self::RemoteNotAllowed { .. }
            | Self::BranchNotAllowed { .. }
            | Self::UnknownRemote { .. }
            | Self::RememberedBad { .. }
            | Self::NothingKept
            | Self::RollbackOff
            | Self::ControlPlane { .. }
            | Self::KubernetesNotShared { .. }
            | Self::ControlPlaneUnfit { .. }
            | Self::ControlNotCarried { .. }
            | Self::NoWatchdog { .. }
            | Self::StateOwed { .. }
            | Self::CheckUntrusted { .. }
            | Self::KubeletSettings { .. }
            | Self::BadPatches { .. }
            | Self::OldCgroups { .. }
            | Self::LocalChanges { .. }
            | Self::NoSuchRef { .. }
            | Self::NoSuchCommit { .. }
            | Self::NoSuchImage { .. }
            | Self::NotEncapsulated { .. }
            | Self::Unsigned { .. }
            | Self::WrongSignature { .. }
            | Self::VerificationOff { .. }
            | Self::NoKernel { .. }
            | Self::NoImageInfo { .. }
            | Self::NoStage { .. }
            | Self::NoAgent { .. }
            | Self::WrongArchitecture { .. }
            | Self::VersionMismatch { .. }
            | Self::Downgrade { .. }
            | Self::OlderImage { .. }
            | Self::BranchChange { .. }
            | Self::NewerThanApiServer { .. }
            | Self::SkewTooLarge { .. }
            | Self::NoRoom { .. }
            | Self::DeployFailed { .. }
            | Self::EtcMerge { .. }
            | Self::AccountTaken { .. }
            | Self::BudgetBlocks { .. }
            | Self::DrainDeadline { .. }
            | Self::DrainRefused { .. }
            | Self::NodeRenamed { .. }
            | Self::ApiRefused { .. }
            | Self::Withdrawn { .. }
            | Self::TargetVanished { .. }
            | Self::StageRefused { .. }
            | Self::NoVerdict { .. }
            | Self::Unhealthy { .. }
            | Self::ServesLess { .. }
            | Self::UserCheck { .. }
            | Self::NoApiFromNewSystem { .. }
            | Self::OptedOut { .. }
            | Self::Unheard => RollBack,
            Self::RecordNewer { .. }
            | Self::RecordDamaged { .. }
            | Self::UnknownSystem { .. }
            | Self::ControlPlaneHurt { .. }
            | Self::ForeignDefault { .. } => Halt,
        };
        Class::Failed(disposition)
    }

    /// Whether the image itself is to blame, so that its digest is recorded as bad. A reason that
    /// names another cause, or none, blames no image.
    #[must_use]
    pub const fn blames_image(&self) -> bool {
        if let Self::StageRefused { cause, .. }
        | Self::NoVerdict { cause, .. }
        | Self::Unhealthy { cause, .. }
        | Self::ServesLess { cause, .. }
        | Self::UserCheck { cause, .. } = self
        {
            return cause.is_image();
        }
        matches!(self, Self::NoApiFromNewSystem { .. })
    }
}

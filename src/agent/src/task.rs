//! What a machine does for a step. A step that the API server performs has no task.

use upgrade::{Deployment, Digest, Target, Version, control_plane};

/// One thing that a machine does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Task {
    /// Runs careen-deploy.
    Deploy(Verb),
    /// Runs the operator's programs.
    Hooks(HookPoint),
    /// Saves the kubelet's state.
    Snapshot,
    /// Writes the one-shot entry for this deployment.
    Arm(Deployment),
    /// Clears the one-shot entry.
    Disarm,
    /// Reboots.
    Reboot {
        /// Whether an earlier reboot request had no effect.
        force: bool,
    },
    /// Runs `kubeadm upgrade node` again and restarts the kubelet.
    Kubeadm,
    /// Runs careen-control.
    Control(ControlOrder),
}

/// A task of careen-control and the image that it is for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ControlOrder {
    /// The task.
    pub task: control_plane::Task,
    /// The Kubernetes version of the image, once it is known.
    pub version: Option<Version>,
    /// The image on the disk, once it is written.
    pub deployment: Option<Deployment>,
}

/// A verb of careen-deploy and its subject (docs/architecture.md).
#[derive(Clone, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // they are the steps of the same name
pub enum Verb {
    Fetch {
        target: Target,
    },
    Verify {
        commit: Digest,
    },
    Deploy {
        commit: Digest,
        /// Where the commit came from, or `None` for a system that is already on this disk.
        image: Option<Target>,
    },
    Bless {
        commit: Digest,
        over: Option<Deployment>,
    },
    Reinstate {
        deployment: Deployment,
        over: Deployment,
    },
    Undo {
        commit: Option<Digest>,
    },
    Clean,
}

/// When the operator's programs run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPoint {
    /// Before the node is cordoned and drained.
    Pre,
    /// After the node is uncordoned.
    Post {
        /// Whether the new system is the default.
        upgraded: bool,
    },
}

impl Task {
    /// Whether a reboot by somebody else would leave the task half done.
    #[must_use]
    pub const fn must_not_be_cut_short(&self) -> bool {
        match self {
            // The operator may reboot in a hook.
            Self::Hooks(_)
            // Careen's own lock would delay its own reboot.
            | Self::Reboot { .. }
            | Self::Deploy(Verb::Fetch { .. } | Verb::Verify { .. }) => false,
            Self::Deploy(
                Verb::Deploy { .. }
                | Verb::Bless { .. }
                | Verb::Reinstate { .. }
                | Verb::Undo { .. }
                | Verb::Clean,
            )
            | Self::Snapshot
            | Self::Arm(_)
            | Self::Disarm
            | Self::Kubeadm => true,
            Self::Control(ControlOrder { task, .. }) => match task {
                control_plane::Task::SaveEtcd
                | control_plane::Task::Raise
                | control_plane::Task::GiveUp => true,
                control_plane::Task::Survey
                | control_plane::Task::Lock
                | control_plane::Task::Yield
                | control_plane::Task::Unlock => false,
            },
        }
    }
}

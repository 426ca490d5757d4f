//! Reasons that are not failures: the upgrade waits until something ends that no try hastens.

/// What an upgrade waits for without a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The end of a pause.
    Pause,
    /// The maintenance window.
    Window,
    /// The end of a healthy system's soak.
    Soak,
    /// Something about the control plane, such as another member's turn.
    ControlPlane,
}

impl Wait {
    const ALL: [Self; 4] = [Self::Pause, Self::Window, Self::Soak, Self::ControlPlane];

    /// The code of the reason for this wait, as in a Node's status.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Pause => "Paused",
            Self::Window => "WindowClosed",
            Self::Soak => "Soaking",
            Self::ControlPlane => "ControlPlaneWaits",
        }
    }

    /// The wait for this code in a Node's status; `None` if the code is not a wait.
    #[must_use]
    pub fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wait| wait.code() == code)
    }
}

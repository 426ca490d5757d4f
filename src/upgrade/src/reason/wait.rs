//! Reasons that are no trouble: the upgrade waits as somebody wants it to, for as long as that takes.

/// What an upgrade waits for by somebody's will.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// The end of a pause.
    Pause,
    /// The operator's hours.
    Window,
    /// The end of the time that a healthy system is watched for.
    Soak,
}

impl Wait {
    const ALL: [Self; 3] = [Self::Pause, Self::Window, Self::Soak];

    /// The code of the reason that says so, as a Node's status has it.
    #[must_use]
    pub const fn code(self) -> &'static str {
        match self {
            Self::Pause => "Paused",
            Self::Window => "WindowClosed",
            Self::Soak => "Soaking",
        }
    }

    /// What is waited for where a Node's status has this code; nothing where the code says something else.
    #[must_use]
    pub fn of(code: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|wait| wait.code() == code)
    }
}

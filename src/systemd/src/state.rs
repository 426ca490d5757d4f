//! The state of a unit.

/// `ActiveState` of a unit, as org.freedesktop.systemd1(5) names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ActiveState {
    /// It runs. A oneshot with `RemainAfterExit=` has succeeded.
    Active,
    /// It runs and reloads its configuration.
    Reloading,
    /// It starts, or waits for its next start.
    Activating,
    /// It does not run.
    Inactive,
    /// It has failed.
    Failed,
    /// It stops (`deactivating`), or is in a state that a later systemd adds.
    Other(String),
}

impl ActiveState {
    /// Whether the unit runs, starts or stops.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        !matches!(self, Self::Inactive | Self::Failed)
    }

    /// systemd's name of the state.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Active => "active",
            Self::Reloading => "reloading",
            Self::Activating => "activating",
            Self::Inactive => "inactive",
            Self::Failed => "failed",
            Self::Other(word) => word,
        }
    }
}

impl From<String> for ActiveState {
    fn from(word: String) -> Self {
        match word.as_str() {
            "active" => Self::Active,
            "reloading" => Self::Reloading,
            "activating" => Self::Activating,
            "inactive" => Self::Inactive,
            "failed" => Self::Failed,
            _ => Self::Other(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_unit_that_waits_for_its_restart_is_alive() {
        let alive = |word: &str| ActiveState::from(word.to_owned()).is_alive();
        assert!(alive("activating") && alive("deactivating") && alive("active"));
        assert!(!alive("failed") && !alive("inactive"));
    }
}

//! Who has the node: its users, or the upgrade.

use crate::id::Moment;

/// Who has the node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Custody {
    /// Its users. This upgrade has not taken the node since it began, or since the last trial.
    Users {
        /// What the pre-hooks did before the last trial is not undone.
        hooks_due: bool,
    },
    /// This upgrade has the node, or is taking it. The agent writes this before the first step that
    /// takes the node, because an agent that is killed in a step does not know the outcome.
    Upgrade(Taken),
    /// Its users again: Careen removed its cordon.
    GivenBack {
        /// The post-hooks were due when the node was released, but no hooks were installed.
        hooks_due: bool,
        /// Since when they have it. `None` if an agent that does not write this gave it back.
        since: Option<Moment>,
    },
}

/// What the upgrade did to take the node from its users.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Taken {
    /// The pre-hooks have passed.
    pub prepared: bool,
    /// The post-hooks have not run since the node was taken.
    pub hooks_due: bool,
    /// The name of our Node when it was first taken.
    pub node: Option<String>,
    /// Since when load balancers are asked to exclude the node.
    pub excluded: Option<Moment>,
    /// When the drain first began. An agent that restarts during the drain does not extend its
    /// deadline.
    pub drain_begun: Option<Moment>,
}

impl Custody {
    /// Whether the node may be partly or fully taken from its users.
    #[must_use]
    pub const fn is_taken(&self) -> bool {
        match self {
            Self::Users { hooks_due } => *hooks_due,
            Self::Upgrade(_) => true,
            Self::GivenBack { .. } => false,
        }
    }

    /// Whether the users have the node again.
    #[must_use]
    pub const fn is_given_back(&self) -> bool {
        matches!(self, Self::GivenBack { .. })
    }

    /// When the users got the node back, if they have it back.
    #[must_use]
    pub const fn given_back_at(&self) -> Option<&Moment> {
        match self {
            Self::GivenBack { since, .. } => since.as_ref(),
            Self::Users { .. } | Self::Upgrade(_) => None,
        }
    }

    /// What was done to take the node. `None` while its users have it.
    #[must_use]
    pub const fn taken(&self) -> Option<&Taken> {
        match self {
            Self::Upgrade(taken) => Some(taken),
            Self::Users { .. } | Self::GivenBack { .. } => None,
        }
    }

    /// Whether the post-hooks have not run since the node was taken.
    #[must_use]
    pub const fn hooks_due(&self) -> bool {
        match self {
            Self::Users { hooks_due } | Self::GivenBack { hooks_due, .. } => *hooks_due,
            Self::Upgrade(taken) => taken.hooks_due,
        }
    }

    /// Takes the node. `node` is its current name.
    #[must_use]
    pub fn take(&self, node: Option<&String>) -> Taken {
        let taken = self.taken().cloned().unwrap_or_default();
        Taken {
            hooks_due: true,
            node: taken.node.or_else(|| node.cloned()),
            ..taken
        }
    }

    /// Applies `note` to what was done to take the node. A node that was given back stays given
    /// back.
    #[must_use]
    pub fn noting(&self, note: impl FnOnce(&mut Taken)) -> Self {
        let mut taken = match self {
            Self::GivenBack { .. } => return self.clone(),
            Self::Upgrade(taken) => taken.clone(),
            Self::Users { hooks_due } => Taken {
                hooks_due: *hooks_due,
                ..Taken::default()
            },
        };
        note(&mut taken);
        Self::Upgrade(taken)
    }

    /// Gives the node back at this moment. The pre-hooks run again the next time it is taken.
    #[must_use]
    pub const fn give_back(&self, since: Option<Moment>) -> Self {
        Self::GivenBack {
            hooks_due: self.hooks_due(),
            since,
        }
    }

    /// Notes that the post-hooks have undone what the pre-hooks did.
    #[must_use]
    pub fn after_post_hooks(&self) -> Self {
        match self {
            Self::Users { .. } => Self::Users { hooks_due: false },
            Self::GivenBack { since, .. } => Self::GivenBack {
                hooks_due: false,
                since: since.clone(),
            },
            Self::Upgrade(taken) => Self::Upgrade(Taken {
                hooks_due: false,
                prepared: false,
                ..taken.clone()
            }),
        }
    }

    /// Resets the drain: one that begins now has its full deadline.
    #[must_use]
    pub fn before_the_drain(&self) -> Self {
        match self {
            Self::Users { .. } | Self::GivenBack { .. } => self.clone(),
            Self::Upgrade(taken) => Self::Upgrade(Taken {
                drain_begun: None,
                ..taken.clone()
            }),
        }
    }

    /// Prepares for the next trial. Pods may be back, so the hooks and the exclusion run again.
    #[must_use]
    pub fn before_the_next_trial(&self) -> Self {
        match self {
            Self::Users { hooks_due } | Self::GivenBack { hooks_due, .. } => Self::Users {
                hooks_due: *hooks_due,
            },
            Self::Upgrade(taken) => Self::Upgrade(Taken {
                prepared: false,
                excluded: None,
                ..taken.clone()
            }),
        }
    }
}

//! The account of a HostRegistration, and the count of its hosts.

/// All input of one decision on a registration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RegistrationFacts {
    /// It is being deleted.
    pub deleting: bool,
    /// It has our finalizer.
    pub finalizer: bool,
    /// Its ServiceAccount exists.
    pub account: bool,
    /// What its status says.
    pub shown: Counts,
    /// What the hosts say.
    pub counted: Counts,
}

/// The hosts of a registration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// How many came.
    pub registered: usize,
    /// How many were let in.
    pub approved: usize,
}

/// One write for a registration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RegistrationAct {
    /// Keep the registration until its account is gone. An owner reference cannot do that: the
    /// account is in another namespace.
    AddFinalizer,
    /// Make the ServiceAccount, whose tokens `kubectl careen host token` asks for.
    MakeAccount,
    /// Delete the ServiceAccount. Its tokens end at once.
    RemoveAccount,
    /// Let the registration go.
    RemoveFinalizer,
    /// Write the counts into the status.
    Show(Counts),
}

/// Decides what to write next. The finalizer comes before the account, so that no account is left.
#[must_use]
pub fn decide_registration(facts: &RegistrationFacts) -> Option<RegistrationAct> {
    use RegistrationAct::{AddFinalizer, MakeAccount, RemoveAccount, RemoveFinalizer, Show};
    match (facts.deleting, facts.finalizer) {
        (true, false) => None,
        (true, true) if facts.account => Some(RemoveAccount),
        (true, true) => Some(RemoveFinalizer),
        (false, false) => Some(AddFinalizer),
        (false, true) if !facts.account => Some(MakeAccount),
        (false, true) => (facts.shown != facts.counted).then_some(Show(facts.counted)),
    }
}

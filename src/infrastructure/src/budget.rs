//! A PodDisruptionBudget that can never let a pod go.

/// What a budget says of its pods.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Budget {
    /// The figures are about its present spec.
    pub current: bool,
    /// How many pods it expects.
    pub expected: i32,
    /// How many of them are healthy.
    pub healthy: i32,
    /// How many may be evicted now.
    pub allowed: i32,
    /// A pod was evicted and has not gone yet.
    pub disrupted: bool,
}

impl Budget {
    /// No pod could be evicted though all are healthy, so waiting does not help: a person must
    /// change the budget, or the number of pods.
    #[must_use]
    pub const fn never_allows(&self) -> bool {
        self.current
            && self.expected > 0
            && self.healthy >= self.expected
            && self.allowed == 0
            && !self.disrupted
    }
}

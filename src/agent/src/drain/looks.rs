//! What the lists of the node's pods show over time: whether the drain is over, and whether the
//! lists fail.
//!
//! One empty list does not end a drain: a server that restarts, a proxy or a filter may answer with
//! a part of the pods. The node is empty if the next list shows the same.

use std::time::Duration;

use tokio::time::Instant;

use crate::cluster::ApiError;

/// The least time between the two empty lists that end a drain.
pub(super) const APART: Duration = Duration::from_secs(1);

/// What the lists have shown so far.
#[derive(Default)]
pub(super) struct Looks {
    empty_since: Option<Instant>,
    failing: Option<Failing>,
}

/// Lists that fail, without a break.
struct Failing {
    since: Instant,
    why: String,
}

impl Looks {
    /// Takes a list with this number of pods that must go. Returns whether the node is empty: two
    /// lists in a row, [`APART`] or more, show no such pod.
    pub fn saw(&mut self, left: usize, now: Instant) -> bool {
        self.failing = None;
        if left > 0 {
            self.empty_since = None;
            return false;
        }
        let since = *self.empty_since.get_or_insert(now);
        now.saturating_duration_since(since) >= APART
    }

    /// Takes a list that failed. It shows nothing, so the two empty lists come after it.
    pub fn failed(&mut self, error: &ApiError, now: Instant) {
        self.empty_since = None;
        let why = error.to_string();
        match &mut self.failing {
            Some(failing) => failing.why = why,
            // One line per outage.
            none => {
                tracing::warn!("cannot list the node's pods: {why}");
                *none = Some(Failing { since: now, why });
            }
        }
    }

    /// Why the drain does not know the node's pods, for a person.
    pub fn told(&self, now: Instant) -> Option<String> {
        let failing = self.failing.as_ref()?;
        let seconds = now.saturating_duration_since(failing.since).as_secs();
        let why = &failing.why;
        Some(format!(
            "the list of the node's pods has failed for {seconds} s: {why}"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_empty_list_does_not_end_a_drain() {
        let (mut looks, now) = (Looks::default(), Instant::now());
        assert!(!looks.saw(3, now));
        assert!(!looks.saw(0, now + APART), "a part of the pods");
        assert!(!looks.saw(2, now + 2 * APART));
        assert!(!looks.saw(0, now + 3 * APART));
        assert!(looks.saw(0, now + 4 * APART));
    }

    #[test]
    fn two_empty_lists_at_the_same_moment_are_one_look() {
        let (mut looks, now) = (Looks::default(), Instant::now());
        assert!(!looks.saw(0, now));
        assert!(!looks.saw(0, now + APART / 2));
        assert!(looks.saw(0, now + APART));
    }

    #[test]
    fn failed_list_between_two_empty_ones_shows_nothing() {
        let (mut looks, now) = (Looks::default(), Instant::now());
        assert!(!looks.saw(0, now));
        looks.failed(&ApiError::Away("reset".to_owned()), now + APART);
        assert!(!looks.saw(0, now + 2 * APART));
        assert!(looks.saw(0, now + 3 * APART));
    }

    #[test]
    fn failing_list_says_why_and_for_how_long() {
        let (mut looks, now) = (Looks::default(), Instant::now());
        assert_eq!(looks.told(now), None);
        looks.failed(&ApiError::Refused("forbidden (403)".to_owned()), now);
        looks.failed(&ApiError::Away("no answer".to_owned()), now + 9 * APART);
        let told = looks.told(now + 20 * APART).unwrap();
        assert!(told.ends_with("has failed for 20 s: no answer"), "{told}");
        looks.saw(1, now + 21 * APART);
        assert_eq!(looks.told(now + 21 * APART), None);
    }
}

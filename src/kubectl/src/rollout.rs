//! How many of many nodes get a request at once, and when the rollout stops. What fails on some
//! nodes would most likely fail on the others too.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// How many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// This many.
    Nodes(NonZeroUsize),
    /// This percentage of the chosen nodes.
    Percent(u8),
}

/// The accepted forms of a width.
const ACCEPTED: &str = "a whole number of nodes from 1 on, or a share of them from 1% to 100%";

impl FromStr for Width {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || format!("accepted is {ACCEPTED}");
        let Some(share) = text.strip_suffix('%') else {
            return text.parse().map(Self::Nodes).map_err(|_| bad());
        };
        let share: u8 = share.parse().map_err(|_| bad())?;
        let is_share = (1..=100).contains(&share);
        is_share.then_some(Self::Percent(share)).ok_or_else(bad)
    }
}

impl Width {
    /// The width for this many nodes. A percentage is rounded down, as Kubernetes does for
    /// maxUnavailable, but is at least one node.
    #[must_use]
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(number) => number.get(),
            Self::Percent(share) => (nodes * usize::from(share) / 100).max(1),
        }
    }
}

/// How a rollout proceeds from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// How many nodes are upgraded at once.
    pub at_once: usize,
    /// After this many failures, no more requests are made.
    pub stop_after: usize,
}

/// The progress of a rollout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Nodes without a request so far.
    pub waiting: usize,
    /// Nodes whose upgrade is in progress.
    pub running: usize,
    /// Nodes that did not succeed.
    pub failed: usize,
}

impl Pace {
    /// How many of the waiting nodes get a request now.
    #[must_use]
    pub fn room(self, tally: Tally) -> usize {
        if tally.failed >= self.stop_after {
            return 0;
        }
        let free = self.at_once.saturating_sub(tally.running);
        free.min(tally.waiting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn room(pace: (usize, usize), tally: (usize, usize, usize)) -> usize {
        let (at_once, stop_after) = pace;
        let (waiting, running, failed) = tally;
        let pace = Pace {
            at_once,
            stop_after,
        };
        pace.room(Tally {
            waiting,
            running,
            failed,
        })
    }

    #[test]
    fn room_opens_as_nodes_end_and_closes_at_the_failure_limit() {
        for (pace, tally, expected) in [
            // One after the other.
            ((1, 1), (3, 0, 0), 1),
            ((1, 1), (2, 1, 0), 0),
            ((1, 1), (2, 0, 1), 0),
            // Three at once: one that has ended makes room for the next.
            ((3, 1), (9, 0, 0), 3),
            ((3, 1), (6, 3, 0), 0),
            ((3, 1), (6, 2, 0), 1),
            // A failure stops the rollout although there is room. Running upgrades continue.
            ((3, 1), (6, 2, 1), 0),
            // One failure is tolerated, and the next node takes its place; two failures are not.
            ((3, 2), (6, 2, 1), 1),
            ((3, 2), (5, 1, 2), 0),
            // At the end fewer nodes wait than there is room for.
            ((3, 1), (1, 0, 0), 1),
            ((3, 1), (0, 2, 0), 0),
        ] {
            assert_eq!(room(pace, tally), expected, "{pace:?} {tally:?}");
        }
    }

    #[test]
    fn a_width_is_a_number_or_a_share_and_never_nobody() {
        let of = |text: &str, nodes| text.parse::<Width>().unwrap().of(nodes);
        assert_eq!(of("5", 100), 5);
        assert_eq!(of("10%", 57), 5);
        assert_eq!(of("1%", 20), 1);
        assert_eq!(of("100%", 20), 20);
        for bad in ["", "0", "0%", "101%", "-1", "5 %", "%", "half"] {
            assert!(bad.parse::<Width>().is_err(), "{bad:?}");
        }
    }
}

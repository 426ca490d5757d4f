//! How many of many nodes are asked at once, and when no more are: what fails on some would most likely fail on the others too.

use std::num::NonZeroUsize;
use std::str::FromStr;

/// How many at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// So many.
    Nodes(NonZeroUsize),
    /// This share of those that were chosen, in percent.
    Percent(u8),
}

/// The accepted forms of a width.
const ACCEPTED: &str = "a number of nodes, or a share of them from 1% to 100%";

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
    /// Of so many nodes. A share is rounded down, as Kubernetes does with what may be away at once, and is never nobody.
    #[must_use]
    pub fn of(self, nodes: usize) -> usize {
        match self {
            Self::Nodes(number) => number.get(),
            Self::Percent(share) => (nodes * usize::from(share) / 100).max(1),
        }
    }
}

/// How it goes on from node to node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// So many are at it at once.
    pub at_once: usize,
    /// When so many have not ended well, nobody is asked any more.
    pub stop_after: usize,
}

/// How far the nodes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tally {
    /// Not asked yet.
    pub waiting: usize,
    /// Asked, and not ended.
    pub running: usize,
    /// Not ended well.
    pub failed: usize,
}

impl Pace {
    /// How many of those that wait are asked now.
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
            // Three at once: one that has ended makes room for one.
            ((3, 1), (9, 0, 0), 3),
            ((3, 1), (6, 3, 0), 0),
            ((3, 1), (6, 2, 0), 1),
            // A failure stops it though there is room, and what runs is let run.
            ((3, 1), (6, 2, 1), 0),
            // One failure is borne, and its place is taken by the next; two are not.
            ((3, 2), (6, 2, 1), 1),
            ((3, 2), (5, 1, 2), 0),
            // At the end fewer wait than there is room for.
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

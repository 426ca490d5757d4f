//! Which snapshots are removed.

use crate::id::UpgradeId;

/// A complete snapshot in the folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The upgrade that made it.
    pub id: UpgradeId,
    /// When it was written, in seconds since 1970 by the clock of the node.
    pub at: u64,
}

/// All but the newest so many of them, the oldest first.
#[must_use]
pub fn surplus(mut all: Vec<Kept>, keep: usize) -> Vec<UpgradeId> {
    all.sort_by(|one, other| (one.at, &one.id).cmp(&(other.at, &other.id)));
    let surplus = all.len().saturating_sub(keep);
    all.truncate(surplus);
    all.into_iter().map(|one| one.id).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn removed(ages: &[u64], keep: usize) -> Vec<String> {
        let kept = |at: &u64| Kept {
            id: format!("u{at}").parse().unwrap(),
            at: *at,
        };
        let all = surplus(ages.iter().map(kept).collect(), keep);
        all.into_iter().map(String::from).collect()
    }

    #[test]
    fn the_oldest_snapshots_go_first() {
        assert_eq!(removed(&[7, 3, 9, 1], 2), ["u1", "u3"]);
        assert_eq!(removed(&[7, 3], 2), Vec::<String>::new());
        assert_eq!(removed(&[], 1), Vec::<String>::new());
        assert_eq!(removed(&[7, 3], 1), ["u3"]);
        assert_eq!(removed(&[7, 3], 0), ["u3", "u7"]);
    }
}

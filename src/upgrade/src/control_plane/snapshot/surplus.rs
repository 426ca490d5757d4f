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

/// When the oldest of the newest so many of them was written. What is older than it is of no use
/// for a restore. `None` if there is none.
#[must_use]
pub fn oldest_kept(mut all: Vec<Kept>, keep: usize) -> Option<u64> {
    let surplus = surplus(all.clone(), keep);
    all.retain(|one| !surplus.contains(&one.id));
    all.into_iter().map(|one| one.at).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(ages: &[u64]) -> Vec<Kept> {
        let kept = |at: &u64| Kept {
            id: format!("u{at}").parse().unwrap(),
            at: *at,
        };
        ages.iter().map(kept).collect()
    }

    fn removed(ages: &[u64], keep: usize) -> Vec<String> {
        let removed = surplus(all(ages), keep);
        removed.into_iter().map(String::from).collect()
    }

    #[test]
    fn what_is_older_than_each_kept_snapshot_is_of_no_use() {
        assert_eq!(oldest_kept(all(&[7, 3, 9, 1]), 2), Some(7));
        assert_eq!(oldest_kept(all(&[7]), 2), Some(7));
        assert_eq!(oldest_kept(all(&[]), 2), None);
        assert_eq!(oldest_kept(all(&[7, 3]), 0), None);
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

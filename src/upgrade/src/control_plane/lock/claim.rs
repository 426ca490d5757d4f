//! Whether an upgrade may take the lock.

use serde::{Deserialize, Serialize};

use super::holder::{Held, Holder};
use super::news::News;

/// What an upgrade may do with the lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Nobody holds it: take it.
    Free,
    /// This upgrade holds it.
    Ours,
    /// Its holder is over: take it over.
    Stale(Ending),
    /// Another one holds it: wait.
    Held,
}

/// Why a holder is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Ending {
    /// Its Node is gone.
    NodeGone,
    /// Its Node has another upgrade since.
    AnotherUpgrade,
    /// Its Node says that it has ended.
    Ended,
}

/// Decides about the lock. `news` is what the Node of the holder says; nobody needs it for a lock
/// that is free or ours.
#[must_use]
pub fn claim(me: &Holder, held: &Held, news: &News) -> Claim {
    match held {
        Held::Free => Claim::Free,
        Held::By(holder) if holder == me => Claim::Ours,
        Held::By(holder) => ending(holder, news).map_or(Claim::Held, Claim::Stale),
        // Only the one who wrote it knows when it is over.
        Held::Somebody(_) => Claim::Held,
    }
}

/// Why this holder is over, by what its Node says. Then any other upgrade takes its lock over.
#[must_use]
pub fn ending(holder: &Holder, news: &News) -> Option<Ending> {
    match news {
        News::Gone => Some(Ending::NodeGone),
        News::Nothing => None,
        News::Going(id) if id == holder.id() => None,
        News::Ended(id) if id == holder.id() => Some(Ending::Ended),
        News::Going(_) | News::Ended(_) => Some(Ending::AnotherUpgrade),
    }
}

impl Ending {
    /// Why, after the holder's name.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::NodeGone => "whose Node does not exist any more",
            Self::AnotherUpgrade => "whose Node has begun another upgrade",
            Self::Ended => "whose Node says that this upgrade has ended",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::UpgradeId;

    fn id(text: &str) -> UpgradeId {
        text.parse().unwrap()
    }

    fn ruling(held: &str, news: &News) -> Claim {
        claim(&"cp-1/7".parse().unwrap(), &Held::of(Some(held)), news)
    }

    const ALL: fn() -> [News; 6] = || {
        [
            News::Gone,
            News::Nothing,
            News::Going(id("7")),
            News::Going(id("8")),
            News::Ended(id("7")),
            News::Ended(id("8")),
        ]
    };

    #[test]
    fn a_free_lock_and_an_own_one_need_no_news() {
        for news in ALL() {
            assert_eq!(ruling("", &news), Claim::Free);
            assert_eq!(ruling("cp-1/7", &news), Claim::Ours);
        }
    }

    #[test]
    fn a_lock_is_stale_if_its_node_says_so_or_is_gone() {
        let expected = [
            Claim::Stale(Ending::NodeGone),
            Claim::Held,
            Claim::Held,
            Claim::Stale(Ending::AnotherUpgrade),
            Claim::Stale(Ending::Ended),
            Claim::Stale(Ending::AnotherUpgrade),
        ];
        for (news, expected) in ALL().into_iter().zip(expected) {
            assert_eq!(ruling("cp-2/7", &news), expected, "{news:?}");
        }
    }

    #[test]
    fn another_upgrade_of_this_node_holds_it_as_any_other() {
        assert_eq!(ruling("cp-1/6", &News::Going(id("6"))), Claim::Held);
        assert_eq!(
            ruling("cp-1/6", &News::Going(id("7"))),
            Claim::Stale(Ending::AnotherUpgrade)
        );
    }

    #[test]
    fn what_a_person_wrote_is_never_taken_over() {
        for news in ALL() {
            assert_eq!(ruling("alice", &news), Claim::Held);
        }
    }
}

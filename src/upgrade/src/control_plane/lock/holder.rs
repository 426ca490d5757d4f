//! Who holds a lock.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::control_plane::text::{Name, Text};
use crate::id::UpgradeId;

/// One upgrade of one node: `<node>/<upgrade id>`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Holder {
    node: String,
    id: UpgradeId,
}

/// A text that names no upgrade of a node.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{0:?} names no upgrade of a node; expected NODE/UPGRADE-ID")]
pub struct NoHolder(Text<320>);

impl Holder {
    /// This upgrade of this node.
    ///
    /// # Errors
    /// No Node can have this name.
    pub fn new(node: &str, id: UpgradeId) -> Result<Self, NoHolder> {
        match is_node(node) {
            true => Ok(Self {
                node: node.to_owned(),
                id,
            }),
            false => Err(NoHolder(format!("{node}/{id}").into())),
        }
    }

    /// The name of the Node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The upgrade.
    #[must_use]
    pub const fn id(&self) -> &UpgradeId {
        &self.id
    }
}

/// What a Node may be called: a DNS subdomain (RFC 1123), as Kubernetes requires.
fn is_node(name: &str) -> bool {
    let plain = |letter: u8| letter.is_ascii_lowercase() || letter.is_ascii_digit();
    let ends = name.as_bytes().first().zip(name.as_bytes().last());
    let allowed = |letter: u8| plain(letter) || letter == b'-' || letter == b'.';
    name.len() <= 253
        && ends.is_some_and(|(first, last)| plain(*first) && plain(*last))
        && name.bytes().all(allowed)
}

impl FromStr for Holder {
    type Err = NoHolder;
    fn from_str(text: &str) -> Result<Self, NoHolder> {
        let bad = || NoHolder(text.into());
        let (node, id) = text.split_once('/').ok_or_else(bad)?;
        let id = id.parse().map_err(|_| bad())?;
        Self::new(node, id)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.node, self.id)
    }
}

impl From<Holder> for String {
    fn from(holder: Holder) -> Self {
        holder.to_string()
    }
}

impl TryFrom<String> for Holder {
    type Error = NoHolder;
    fn try_from(text: String) -> Result<Self, NoHolder> {
        text.parse()
    }
}

/// What the holder identity of the Lease says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// Nobody holds the lock.
    Free,
    /// This upgrade does.
    By(Holder),
    /// Somebody whose text names no upgrade of a node, for example a person.
    Somebody(Name),
}

impl Held {
    /// Reads the field `holderIdentity`.
    #[must_use]
    pub fn of(identity: Option<&str>) -> Self {
        match identity {
            None | Some("") => Self::Free,
            Some(text) => match text.parse() {
                Ok(holder) => Self::By(holder),
                Err(_) => Self::Somebody(text.into()),
            },
        }
    }

    /// The holder for a sentence, if there is one.
    #[must_use]
    pub fn name(&self) -> Option<Name> {
        match self {
            Self::Free => None,
            Self::By(holder) => Some(holder.to_string().into()),
            Self::Somebody(name) => Some(name.clone()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_holder_is_a_node_and_an_upgrade() {
        let holder: Holder = "cp-1.example.org/r7-0123".parse().unwrap();
        assert_eq!(
            (holder.node(), holder.id().as_str()),
            ("cp-1.example.org", "r7-0123")
        );
        assert_eq!(holder.to_string(), "cp-1.example.org/r7-0123");
        let long = format!("{}/7", "a".repeat(254));
        for text in [
            "", "cp-1", "/7", "cp-1/", "cp-1/a/b", "CP/7", "-a/7", "a./7", "a b/7", &long,
        ] {
            assert!(text.parse::<Holder>().is_err(), "{text:?}");
        }
        assert!(Holder::new("cp/1", "7".parse().unwrap()).is_err());
    }

    #[test]
    fn the_longest_holder_is_not_cut() {
        let node = format!("{}.b", "a".repeat(251));
        let id: UpgradeId = "i".repeat(63).parse().unwrap();
        let holder = Holder::new(&node, id).unwrap();
        assert_eq!(holder.to_string().parse(), Ok(holder));
    }

    #[test]
    fn an_identity_that_is_no_upgrade_is_still_held() {
        assert_eq!(Held::of(None), Held::Free);
        assert_eq!(Held::of(Some("")), Held::Free);
        assert_eq!(Held::of(Some("alice")), Held::Somebody("alice".into()));
        assert!(matches!(Held::of(Some("cp-2/7")), Held::By(_)));
        let name = Held::of(Some("bob\u{1b}[2J")).name().unwrap();
        assert_eq!(name.as_str(), "bob [2J");
    }
}

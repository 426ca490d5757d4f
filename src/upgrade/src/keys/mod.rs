//! The keys on a Node that concern us: what holds upgrades back, and what is nearly ours.
//!
//! A person who pauses a node by a label, or by a key that is not spelt as ours, means a pause all the same. So what looks like one
//! holds, and every other key that is nearly ours is told. `docs/operating.md` has the rule.

mod domain;
mod looks;

use std::collections::BTreeMap;
use std::fmt;

use crate::names::{self, Kind};
use crate::reason::Reason;
use looks::Looks;

/// The most keys that are told; a Node may have thousands.
pub const MOST: usize = 8;

/// The longest part of a value that is repeated, in characters.
const SHOWN: usize = 64;

/// Where a key is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Place {
    /// An annotation.
    Annotation,
    /// A label.
    Label,
}

impl Place {
    /// As kubectl's verbs and people call it.
    const fn words(self) -> (&'static str, &'static str) {
        match self {
            Self::Annotation => ("annotation", "annotate"),
            Self::Label => ("label", "label"),
        }
    }
}

/// A key that is nearly ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Where it is.
    pub place: Place,
    /// The key as it is spelt there.
    pub key: String,
    /// Its value, or the beginning of it.
    pub value: String,
    /// The annotation that is perhaps meant.
    pub meant: Option<&'static str>,
}

/// Why nothing new is begun.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The requester's annotation says why.
    Asked(String),
    /// This looks like a pause, or like an opt-out.
    Looks(Stray),
}

/// What the keys on a Node say beside a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Why nothing new is begun.
    pub pause: Option<Pause>,
    /// Why the node takes no request.
    pub opted_out: Option<String>,
    /// The keys that are nearly ours, at most [`MOST`], those that look like a pause first.
    pub strays: Vec<Stray>,
}

/// Annotations or labels.
type Pairs = BTreeMap<String, String>;

impl Keys {
    /// Reads them. Every key that [`names::TABLE`] has is known where it has it.
    #[must_use]
    pub fn read(annotations: &Pairs, labels: &Pairs) -> Self {
        let annotations_looked_at = looked_at(Place::Annotation, annotations);
        let all = annotations_looked_at.chain(looked_at(Place::Label, labels));
        let (holds, others): (Vec<_>, Vec<_>) = all.partition(|(_, holds)| *holds);
        let strays = holds.iter().chain(&others).map(|(stray, _)| stray.clone());
        let looks = holds.first().map(|(stray, _)| Pause::Looks(stray.clone()));
        let asked = annotations.get(names::PAUSED).cloned();
        Self {
            pause: asked.map(Pause::Asked).or(looks),
            opted_out: annotations.get(names::OPT_OUT).cloned(),
            strays: strays.take(MOST).collect(),
        }
    }
}

/// The strays of one place, each with whether it looks like a pause.
fn looked_at(place: Place, pairs: &Pairs) -> impl Iterator<Item = (Stray, bool)> {
    let unknown = pairs.iter().filter(move |(key, _)| !is_known(place, key));
    unknown.filter_map(move |(key, value)| {
        let (domain, name) = domain::of(key)?;
        let looks = looks::looks(domain, &name, value, key)?;
        let meant = match looks {
            Looks::Paused => Some(names::PAUSED),
            Looks::OptedOut => Some(names::OPT_OUT),
            Looks::Unknown { meant } => meant,
        };
        let stray = Stray {
            place,
            key: key.clone(),
            value: value.chars().take(SHOWN).collect(),
            meant,
        };
        Some((stray, !matches!(looks, Looks::Unknown { .. })))
    })
}

fn is_known(place: Place, key: &str) -> bool {
    let kind = match place {
        Place::Annotation => Kind::Annotation,
        Place::Label => Kind::Label,
    };
    names::TABLE
        .iter()
        .any(|row| row.kind == kind && row.name == key)
}

impl fmt::Display for Stray {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} ({:?})",
            self.place.words().0,
            self.key,
            self.value
        )
    }
}

impl Stray {
    /// In one line, for a list: where it is, and what is perhaps meant.
    #[must_use]
    pub fn told(&self) -> String {
        let meant = self
            .meant
            .map(|meant| format!(" (annotation {meant} is perhaps meant)"));
        format!(
            "{} {}{}",
            self.place.words().0,
            self.key,
            meant.unwrap_or_default()
        )
    }

    /// How a person takes it off this Node.
    #[must_use]
    pub fn removal(&self, node: &str) -> String {
        format!("kubectl {} node {node} {}-", self.place.words().1, self.key)
    }
}

impl Pause {
    /// Why, for a person.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::Asked(why) => why.clone(),
            Self::Looks(stray) => {
                let means = match stray.meant {
                    Some(names::OPT_OUT) => "an opt-out",
                    Some(_) | None => "a pause",
                };
                let meant = stray.meant.unwrap_or(names::PAUSED);
                format!("{stray} looks like {means}, which is the annotation {meant}")
            }
        }
    }

    /// What it means for what is asked of the Node.
    #[must_use]
    pub fn reason(&self) -> Reason {
        let by = match self {
            Self::Asked(_) => None,
            Self::Looks(stray) => Some(format!("it (`{}`)", stray.removal("NODE"))),
        };
        Reason::paused(&self.why(), by)
    }
}

impl From<&str> for Pause {
    fn from(why: &str) -> Self {
        Self::Asked(why.to_owned())
    }
}

impl From<String> for Pause {
    fn from(why: String) -> Self {
        Self::Asked(why)
    }
}

//! The keys on a Node that matter to Careen: those that hold upgrades back, and those that resemble
//! ours.
//!
//! A person who pauses a node by a label, or by a misspelt key, still wants a pause. So a key that
//! looks like a pause pauses the node, and the agent reports every other key that resembles ours.
//! `docs/operating.md` has the rule.

mod domain;
mod leaving;
mod misspelled;
mod place;
mod words;

use std::fmt;

use crate::names::{self, Kind};
use crate::reason::Reason;
use crate::target::request;
pub use leaving::{Leaving, TERMINATING};
use misspelled::Meaning;
use place::Pairs;
pub use place::Place;

/// The most keys that are reported; a Node may have thousands.
pub const MOST: usize = 8;

/// The longest part of a value that is repeated, in characters.
const SHOWN: usize = 64;

/// A key that resembles ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stray {
    /// Where it is.
    pub place: Place,
    /// The key as it is written.
    pub key: String,
    /// Its value, or the start of it.
    pub value: String,
    /// The annotation that is possibly meant.
    pub meant: Option<&'static str>,
    /// It is a part of a request that is known, and the request itself is absent.
    pub alone: bool,
}

/// Why nothing new begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pause {
    /// The requester's annotation, with its reason.
    Asked(String),
    /// Another program is about to remove the node, or repairs or maintains it.
    Leaves(Leaving),
    /// A key that looks like a pause or an opt-out.
    Looks(Stray),
}

/// What the keys on a Node mean, apart from a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keys {
    /// Why nothing new begins.
    pub pause: Option<Pause>,
    /// Why the node takes no requests.
    pub opted_out: Option<String>,
    /// The keys that resemble ours, at most [`MOST`]; those that look like a pause come first.
    pub strays: Vec<Stray>,
}

impl Keys {
    /// Reads the keys. A key that [`names::TABLE`] has is known in the place that the table gives.
    #[must_use]
    pub fn read(annotations: &Pairs, labels: &Pairs) -> Self {
        Self::of(annotations, labels, &Pairs::new())
    }

    /// Reads the keys, with those of taints and their values.
    #[must_use]
    pub fn of(annotations: &Pairs, labels: &Pairs, taints: &Pairs) -> Self {
        let all = looked_at(Place::Annotation, annotations)
            .chain(looked_at(Place::Label, labels))
            .chain(looked_at(Place::Taint, taints));
        let (holds, others): (Vec<_>, Vec<_>) = all.partition(|(_, holds)| *holds);
        let strays = holds.iter().chain(&others).map(|(stray, _)| stray.clone());
        let looks = holds.first().map(|(stray, _)| Pause::Looks(stray.clone()));
        let asked = annotations.get(names::PAUSED).cloned();
        let leaves = Leaving::of(annotations, labels, taints).map(Pause::Leaves);
        Self {
            pause: asked.map(Pause::Asked).or(leaves).or(looks),
            opted_out: annotations.get(names::OPT_OUT).cloned(),
            strays: alone(annotations)
                .into_iter()
                .chain(strays)
                .take(MOST)
                .collect(),
        }
    }
}

impl Keys {
    /// Adds that the Node is being deleted since this time, if it is.
    #[must_use]
    pub fn with_deletion(self, since: Option<&str>) -> Self {
        self.leaving(since.map(Leaving::deleted))
    }

    /// Adds what the Node's conditions say of it: the type, status and reason of each.
    #[must_use]
    pub fn with_conditions<'a>(self, all: impl IntoIterator<Item = [&'a str; 3]>) -> Self {
        self.leaving(all.into_iter().find_map(Leaving::by_condition))
    }

    fn leaving(mut self, leaving: Option<Leaving>) -> Self {
        let leaves = leaving.map(Pause::Leaves);
        self.pause = match self.pause {
            asked @ Some(Pause::Asked(_)) => asked,
            other @ (Some(Pause::Leaves(_) | Pause::Looks(_)) | None) => leaves.or(other),
        };
        self
    }
}

/// The part of a request whose request is absent, the image before all others.
fn alone(annotations: &Pairs) -> Option<Stray> {
    let has = |key: &&str| annotations.contains_key(*key);
    if has(&names::REQUEST) {
        return None;
    }
    let mut parts = [names::IMAGE].into_iter().chain(request::KEYS);
    let key = parts.find(has)?;
    let value = annotations.get(key)?;
    Some(Stray {
        alone: true,
        ..stray(Place::Annotation, (key, value), Some(names::REQUEST))
    })
}

fn stray(place: Place, (key, value): (&str, &str), meant: Option<&'static str>) -> Stray {
    Stray {
        place,
        key: key.to_owned(),
        value: value.chars().take(SHOWN).collect(),
        meant,
        alone: false,
    }
}

/// The strays of one place, each with whether it looks like a pause.
fn looked_at(place: Place, pairs: &Pairs) -> impl Iterator<Item = (Stray, bool)> {
    let unknown = pairs
        .iter()
        .filter(move |(key, value)| !is_known(place, key, value));
    unknown.filter_map(move |(key, value)| {
        let (domain, name) = domain::of(key);
        let meaning = misspelled::likely_meaning(domain, &name, value, key)?;
        let meant = match meaning {
            Meaning::Paused => Some(names::PAUSED),
            Meaning::OptedOut => Some(names::OPT_OUT),
            Meaning::Unknown { meant } => meant,
        };
        let holds = !matches!(meaning, Meaning::Unknown { .. });
        Some((stray(place, (key, value), meant), holds))
    })
}

/// A request with the key of the answer is not known: the agent answers with other values.
fn is_known(place: Place, key: &str, value: &str) -> bool {
    let kind = match place {
        Place::Annotation => Kind::Annotation,
        Place::Label => Kind::Label,
        Place::Taint => return false,
    };
    let asks = key == names::ANSWER && misspelled::is_scheduled(value);
    let mut rows = names::TABLE.iter();
    !asks && rows.any(|row| row.kind == kind && row.name == key)
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
    /// In one line, for a list: its place, and what is possibly meant.
    #[must_use]
    pub fn told(&self) -> String {
        let meant = self.meant.map(|meant| match self.alone {
            true => format!(" without a request (annotation {meant} is missing)"),
            false => format!(" (annotation {meant} is perhaps meant)"),
        });
        format!(
            "{} {}{}",
            self.place.words().0,
            self.key,
            meant.unwrap_or_default()
        )
    }

    /// How to remove it from this Node.
    #[must_use]
    pub fn removal(&self, node: &str) -> String {
        format!("kubectl {} node {node} {}-", self.place.words().1, self.key)
    }
}

impl Pause {
    /// Why nothing new begins, for display.
    #[must_use]
    pub fn why(&self) -> String {
        match self {
            Self::Asked(why) => why.clone(),
            Self::Leaves(leaving) => leaving.to_string(),
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

    /// The reason for a request on the Node.
    #[must_use]
    pub fn reason(&self) -> Reason {
        let by = match self {
            Self::Asked(_) => None,
            Self::Leaves(leaving) => return leaving.reason(),
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

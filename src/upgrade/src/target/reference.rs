//! An image reference, and what a request may ask for.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::container::{self, ContainerImage};
use crate::id::{self, Digest, Malformed};
use crate::names;
use crate::typo::{Wrong, length, letters};

/// A macro, since `concat!` takes no constants.
macro_rules! images {
    () => {
        "ostree:<remote>:<ref>[@<commit>], docker://<host>/<name>@sha256:<digest>[@<commit>], \
         oci-archive:<path>@sha256:<digest>[@<commit>] or oci:<path>@sha256:<digest>[@<commit>], \
         where commit and digest are 64 lower-case hexadecimal digits and a path is absolute"
    };
}

/// The accepted forms of an image reference.
pub const ACCEPTED_IMAGE: &str = images!();

/// The accepted forms of what a request may ask for.
pub const ACCEPTED_WANTED: &str = concat!(images!(), "; or kept:");

/// [`names::KEPT_IMAGE`] without its colon.
const KEPT: &str = "kept";

/// What a request asks for: an image, or the system that this node has kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// An image.
    Image(Target),
    /// The old deployment that the last upgrade kept.
    Kept,
}

impl FromStr for Wanted {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        if text == names::KEPT_IMAGE {
            return Ok(Self::Kept);
        }
        if text.trim_end_matches(':').eq_ignore_ascii_case(KEPT) {
            let wrong = Wrong::at(0, "kept: has small letters and one colon");
            return Err(wrong.in_field(names::IMAGE, text, ACCEPTED_WANTED));
        }
        let image = text.parse().map(Self::Image);
        image.map_err(|bad: Malformed| bad.of(names::IMAGE, ACCEPTED_WANTED))
    }
}

impl fmt::Display for Wanted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Image(image) => image.fmt(f),
            Self::Kept => f.write_str(names::KEPT_IMAGE),
        }
    }
}

/// An image and, once it is known, its commit. From then on the record pins both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Target {
    /// Where the image comes from.
    pub source: Source,
    /// The commit.
    pub commit: Option<Digest>,
}

/// Where an image comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// An OSTree remote. Without a commit, the branch is resolved once.
    Remote(Branch),
    /// A container image.
    Container(ContainerImage),
}

/// A branch of an OSTree remote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Branch {
    /// The remote's name in the node's OSTree configuration.
    pub remote: String,
    /// The branch.
    pub reference: String,
}

impl Target {
    /// Whether it can refer to only one image.
    #[must_use]
    pub const fn is_pinned(&self) -> bool {
        matches!(self.source, Source::Container(_)) || self.commit.is_some()
    }

    /// A system that is already on this node. It has the form of an image on a remote: the kept
    /// system may be older than this form of request, and must be able to read the record of its
    /// own trial.
    #[must_use]
    pub fn here(commit: Digest) -> Self {
        let kept = Branch {
            remote: "kept".to_owned(),
            reference: "kept".to_owned(),
        };
        Self {
            source: Source::Remote(kept),
            commit: Some(commit),
        }
    }
}

impl FromStr for Target {
    type Err = Malformed;
    fn from_str(text: &str) -> Result<Self, Malformed> {
        let parsed = match text.strip_prefix(OSTREE) {
            Some(rest) => branch(rest).map_err(|wrong| wrong.moved(OSTREE.len())),
            None => container(text),
        };
        parsed.map_err(|wrong| wrong.in_field(names::IMAGE, text, ACCEPTED_IMAGE))
    }
}

/// The prefix of an image on an OSTree remote.
const OSTREE: &str = "ostree:";

/// `<remote>:<ref>[@<commit>]`.
fn branch(text: &str) -> Result<Target, Wrong> {
    if let Some(rest) = text.strip_prefix("//") {
        let (remote, reference) = rest.split_once(['/', ':']).unwrap_or((rest, "<ref>"));
        let begin: String = format!("{remote}:{reference}").chars().take(120).collect();
        let says = format!("it begins with ostree://; write {OSTREE}{begin}");
        return Err(Wrong::at(0, says));
    }
    let Some((remote, rest)) = text.split_once(':') else {
        return Err(Wrong::at(text.len(), "it has no :<ref> after the remote"));
    };
    check_remote(remote).map_err(|wrong| wrong.within("its remote"))?;
    let (reference, at_commit) = at(rest);
    let begin = remote.len() + 1;
    check_reference(reference).map_err(|wrong| wrong.within("its ref").moved(begin))?;
    let source = Source::Remote(Branch {
        remote: remote.to_owned(),
        reference: reference.to_owned(),
    });
    let commit = commit(at_commit).map_err(|wrong| wrong.moved(begin + reference.len() + 1))?;
    Ok(Target { source, commit })
}

/// `<transport><place>@sha256:<digest>[@<commit>]`.
fn container(text: &str) -> Result<Target, Wrong> {
    let (image, at_commit) = match text.match_indices('@').nth(1) {
        Some((end, _)) => (&text[..end], Some(&text[end + 1..])),
        None => (text, None),
    };
    let source = Source::Container(container::parse(image)?);
    let commit = commit(at_commit).map_err(|wrong| wrong.moved(image.len() + 1))?;
    Ok(Target { source, commit })
}

fn commit(text: Option<&str>) -> Result<Option<Digest>, Wrong> {
    let Some(text) = text else {
        return Ok(None);
    };
    id::digits(text).map_err(|wrong| wrong.within("its commit"))?;
    // The digits are checked.
    Ok(text.parse().ok())
}

/// The parts before and after the first `@`.
fn at(text: &str) -> (&str, Option<&str>) {
    text.split_once('@')
        .map_or((text, None), |(before, commit)| (before, Some(commit)))
}

fn is_name(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "._-".contains(letter)
}

/// The letters of [`is_name`].
const NAME: &str = "a-z A-Z 0-9 . _ -";

/// libostree uses remote names in file names and section headers, so the allowed letters are few.
fn check_remote(text: &str) -> Result<(), Wrong> {
    letters(text, is_name, NAME)?;
    length(text, 64)?;
    begins(text)
}

fn begins(text: &str) -> Result<(), Wrong> {
    if text.starts_with(['-', '.']) {
        return Err(Wrong::at(0, format!("begins with {:?}", &text[..1])));
    }
    Ok(())
}

/// Whether the text is the name of a remote.
pub(crate) fn is_remote(text: &str) -> bool {
    check_remote(text).is_ok()
}

/// The letters that `ostree_validate_rev` accepts, without leading dots or dashes in any part.
fn check_reference(text: &str) -> Result<(), Wrong> {
    let is_allowed = |letter| is_name(letter) || letter == '/';
    letters(text, is_allowed, "a-z A-Z 0-9 . _ - and / between parts")?;
    length(text, 255)?;
    let mut at = 0;
    for part in text.split('/') {
        if part.is_empty() {
            return Err(Wrong::at(at, "has an empty part beside a slash"));
        }
        begins(part).map_err(|wrong| wrong.within("has a part that").moved(at))?;
        at += part.len() + 1;
    }
    Ok(())
}

/// Whether the text is the name of a ref.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    check_reference(text).is_ok()
}

impl TryFrom<String> for Target {
    type Error = Malformed;
    fn try_from(text: String) -> Result<Self, Malformed> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> Self {
        target.to_string()
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Source::Remote(branch) => write!(f, "ostree:{}:{}", branch.remote, branch.reference)?,
            Source::Container(image) => write!(f, "{image}")?,
        }
        self.commit
            .as_ref()
            .map_or(Ok(()), |commit| write!(f, "@{commit}"))
    }
}

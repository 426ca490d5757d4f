//! What a request asks for: a parsed image reference. [`request`] has the annotations.

pub mod request;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::container::ContainerImage;
use crate::id::{Digest, Malformed, malformed};
use crate::names;
pub use request::{RawRequest, Request};

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
        let image = text.parse().map(Self::Image);
        image.map_err(|_: Malformed| malformed(names::IMAGE, text, ACCEPTED_WANTED))
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
        let bad = || malformed(names::IMAGE, text, ACCEPTED_IMAGE);
        let (source, commit) = match text.strip_prefix("ostree:") {
            Some(rest) => branch(rest).ok_or_else(bad)?,
            None => container(text).ok_or_else(bad)?,
        };
        let commit = commit.map(str::parse).transpose().map_err(|_| bad())?;
        Ok(Self { source, commit })
    }
}

/// `<remote>:<ref>[@<commit>]`.
fn branch(text: &str) -> Option<(Source, Option<&str>)> {
    let (remote, rest) = text.split_once(':')?;
    let (reference, commit) = behind(rest);
    let branch = Branch {
        remote: remote.to_owned(),
        reference: reference.to_owned(),
    };
    (is_remote(remote) && is_reference(reference)).then_some((Source::Remote(branch), commit))
}

/// `<transport><place>@sha256:<digest>[@<commit>]`.
fn container(text: &str) -> Option<(Source, Option<&str>)> {
    let (place, rest) = text.split_once('@')?;
    let (digest, commit) = behind(rest);
    let image = format!("{place}@{digest}").parse().ok()?;
    Some((Source::Container(image), commit))
}

/// The parts before and after the first `@`.
fn behind(text: &str) -> (&str, Option<&str>) {
    text.split_once('@')
        .map_or((text, None), |(before, commit)| (before, Some(commit)))
}

/// libostree uses remote names in file names and section headers, so the allowed characters are
/// few.
pub(crate) fn is_remote(text: &str) -> bool {
    (1..=64).contains(&text.len())
        && !text.starts_with(['-', '.'])
        && text
            .bytes()
            .all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
}

/// The characters that `ostree_validate_rev` accepts, without leading dots or dashes in any part.
#[must_use]
pub fn is_reference(text: &str) -> bool {
    let word = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['-', '.'])
            && part
                .bytes()
                .all(|c| c.is_ascii_alphanumeric() || b"._-".contains(&c))
    };
    text.len() <= 255 && text.split('/').all(word)
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

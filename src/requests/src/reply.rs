//! An agent's reply to a request, and whether the reply belongs to it.

use serde::de::DeserializeOwned;
use upgrade::history::Past;
use upgrade::report::{Answer, Status};
use upgrade::{Digest, RawRequest, Target, UpgradeId, names, sanitize};

use crate::phase::PhaseName;

/// The agent's code for a withdrawn request. It does not answer a request that is there.
const WITHDRAWN: &str = "Withdrawn";

/// The history keeps at least this many characters of an image.
const TOLD: usize = 400;

/// Limits on the JSON that a node wrote. The agent's own has at most 16 KiB, but an annotation can
/// have 256 KiB.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The limit of one annotation, in bytes. A longer one is not read.
    pub json: usize,
    /// The limit of each string in it, in bytes. A longer one is cut.
    pub string: usize,
}

impl Limits {
    /// The value of an annotation with sanitized strings, or nothing if it is absent or cannot be
    /// read.
    #[must_use]
    pub fn read<T: DeserializeOwned>(self, value: Option<&str>) -> Option<T> {
        let within = value.filter(|text| text.len() <= self.json)?;
        sanitize::from_json(within, self.string).ok()
    }
}

/// The agent's reply.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The short answer.
    pub answer: Option<Answer>,
    /// The details; nothing if they are absent or cannot be read.
    pub status: Option<Status>,
    /// The details exist but cannot be read.
    pub unreadable: bool,
}

impl Reply {
    /// Reads the reply from a Node. `get` returns the value of an annotation.
    #[must_use]
    pub fn read<'a>(get: impl Fn(&'static str) -> Option<&'a str>, limits: Limits) -> Self {
        let details = get(names::STATUS);
        let status = limits.read(details);
        Self {
            answer: get(names::ANSWER).and_then(Answer::of),
            unreadable: details.is_some() && status.is_none(),
            status,
        }
    }

    /// The id of the answered request.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.status.as_ref()?.id.as_ref().map(UpgradeId::as_str)
    }

    /// The code of the reason.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        self.status.as_ref()?.code.as_deref()
    }

    /// The phase in the details.
    #[must_use]
    pub fn phase(&self) -> PhaseName {
        let status = self.status.as_ref();
        status.map_or(PhaseName::Other, |status| PhaseName::of(&status.phase))
    }

    /// Whether the upgrade holds the lock of the control plane.
    #[must_use]
    pub fn holds_the_lock(&self) -> bool {
        let status = self.status.as_ref();
        let control_plane = status.and_then(|status| status.control_plane.as_ref());
        control_plane.is_some_and(|control_plane| control_plane.locked)
    }

    /// The answer to the request with this id, and to no other.
    #[must_use]
    pub fn to(&self, id: &UpgradeId) -> Option<(Answer, &Status)> {
        let status = self.status.as_ref()?;
        let answer = self.answer.filter(|_| status.id.as_ref() == Some(id))?;
        Some((answer, status))
    }

    /// Whether the agent has finished the request.
    #[must_use]
    pub const fn is_last_word(&self) -> bool {
        matches!(self.answer, Some(Answer::Upgraded | Answer::Failed))
    }

    /// Whether the agent reports that the request was withdrawn. If the request is there again, the
    /// agent has not looked yet.
    #[must_use]
    pub fn was_withdrawn(&self) -> bool {
        self.answer == Some(Answer::Failed) && self.code() == Some(WITHDRAWN)
    }

    /// Whether this answers a request that anybody may have made, perhaps without an id. `past` is
    /// the Node's history. A program that gives each request its own id uses [`Self::to`].
    #[must_use]
    pub fn belongs_to(&self, request: &RawRequest, past: &[Past]) -> bool {
        let belongs =
            |status| self.repeats_id(request, status) && self.fits_image(request, status, past);
        // Without readable details nothing distinguishes the requests.
        self.answer.is_some() && self.status.as_ref().is_none_or(belongs)
    }

    /// Only the agent can distinguish a request without an id from an older one.
    fn repeats_id(&self, request: &RawRequest, status: &Status) -> bool {
        match (&request.id, &status.id) {
            (None, _) => true,
            (Some(wanted), Some(told)) => wanted == told.as_str(),
            // An unreadable record has no id. The agent does not repeat a malformed id.
            (Some(wanted), None) => {
                self.phase() == PhaseName::Halted || wanted.parse::<UpgradeId>().is_err()
            }
        }
    }

    /// A person may set another image with the id of the last request, or without any id. In that
    /// case an earlier answer does not belong to it. The agent distinguishes both, but it may be
    /// silent.
    fn fits_image(&self, request: &RawRequest, status: &Status, past: &[Past]) -> bool {
        // An unreadable record halts any request.
        let halted = self.phase() == PhaseName::Halted;
        let Some(image) = request.image.as_deref().filter(|_| !halted) else {
            return true;
        };
        let mut past = past.iter().filter(|_| self.is_last_word());
        match past.find(|past| past.id == status.id) {
            Some(past) => is_told(image, &past.image),
            None => leads_to(image, status.to.as_ref()),
        }
    }
}

/// Whether this is the image in the history, which may be cut there.
fn is_told(image: &str, told: &str) -> bool {
    image == told || told.chars().count() >= TOLD && image.starts_with(told)
}

/// Whether the image may be this commit. A ref may be any commit, and so may the digest of a
/// container image.
fn leads_to(image: &str, to: Option<&Digest>) -> bool {
    let image: Option<Target> = image.parse().ok();
    let commit = image.and_then(|image| image.commit);
    commit.is_none() || to.is_none() || commit.as_ref() == to
}

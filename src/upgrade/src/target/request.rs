//! The request on a Node: five annotations. Only this codec reads and writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::reference::{ACCEPTED_WANTED, Wanted};
use crate::id::{Malformed, UpgradeId};
use crate::names;
use crate::typo::{self, Wrong};
use crate::version::{self, Version};

/// The annotations of a request, in the order of the fields of [`RawRequest`].
pub const KEYS: [&str; 5] = [
    names::REQUEST,
    names::IMAGE,
    names::KUBERNETES_VERSION,
    names::UPGRADE_ID,
    names::SOAK,
];

/// The longest request that the record keeps as it is, in bytes. All annotations of a Node may have
/// 256 KiB, and no valid request is as long as this.
const NOTED: usize = 4096;

/// The longest soak, in seconds.
pub const SOAK_MAX: u64 = 86_400;

/// Annotations for a JSON merge patch. An annotation without a value is removed.
pub type Patch = BTreeMap<&'static str, Option<String>>;

/// The request on a Node; `None` if the annotation [`names::REQUEST`] is absent. `get` returns the
/// value of an annotation.
#[must_use]
pub fn from_annotations(get: impl Fn(&'static str) -> Option<String>) -> Option<RawRequest> {
    get(names::REQUEST)?;
    Some(values(get))
}

/// The values of all five annotations, even if there is no request: a Node may keep the others
/// after [`names::REQUEST`] was removed. That field is then empty.
#[must_use]
pub fn values(get: impl Fn(&'static str) -> Option<String>) -> RawRequest {
    let [request, image, kubernetes, id, soak] = KEYS.map(get);
    RawRequest {
        request: request.unwrap_or_default(),
        image,
        kubernetes,
        id,
        soak,
    }
}

/// Writes all annotations of a request. So no reader sees half a request, and nothing of an earlier
/// request remains.
#[must_use]
pub fn to_patch(request: &RawRequest) -> Patch {
    let RawRequest {
        request,
        image,
        kubernetes,
        id,
        soak,
    } = request.clone();
    let values = [Some(request), image, kubernetes, id, soak];
    KEYS.into_iter().zip(values).collect()
}

/// Removes all annotations of a request.
#[must_use]
pub fn clear_patch() -> Patch {
    KEYS.map(|key| (key, None)).into()
}

/// A request as the annotations have it, unparsed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RawRequest {
    /// Value of [`names::REQUEST`].
    pub request: String,
    /// Value of [`names::IMAGE`].
    pub image: Option<String>,
    /// Value of [`names::KUBERNETES_VERSION`].
    pub kubernetes: Option<String>,
    /// Value of [`names::UPGRADE_ID`].
    pub id: Option<String>,
    /// Value of [`names::SOAK`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soak: Option<String>,
}

/// A parsed request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// What it asks for.
    pub wanted: Wanted,
    /// The version that the image must contain.
    pub kubernetes: Option<Version>,
    /// The requester's id.
    pub id: Option<UpgradeId>,
    /// The minimum time for which the new system must be healthy, in seconds.
    pub soak_seconds: Option<u64>,
}

impl RawRequest {
    /// A request for this image without further annotations.
    #[must_use]
    pub fn scheduled(image: impl Into<String>) -> Self {
        Self {
            request: names::REQUEST_SCHEDULED.to_owned(),
            image: Some(image.into()),
            ..Self::default()
        }
    }

    /// The request as the record keeps it once it is answered: as it is, or by its digest if it is
    /// long. An agent before this one does not recognise the digest and answers once more.
    #[must_use]
    pub fn noted(&self) -> Self {
        let rest = [&self.image, &self.kubernetes, &self.id, &self.soak];
        let rest = rest.into_iter().flatten().map(String::len);
        let length = rest.fold(self.request.len(), usize::saturating_add);
        if length <= NOTED {
            return self.clone();
        }
        // A text and texts that may be absent are JSON in any case.
        let text = serde_json::to_vec(self).unwrap_or_default();
        let digest = hex::encode(Sha256::digest(text));
        Self {
            request: format!("sha256:{digest} of {length} bytes"),
            ..Self::default()
        }
    }

    /// Whether it asks for an upgrade.
    #[must_use]
    pub fn is_scheduled(&self) -> bool {
        self.request == names::REQUEST_SCHEDULED
    }

    /// Parses what the requester wrote.
    ///
    /// # Errors
    /// The first annotation that does not have its accepted form.
    pub fn parse(&self) -> Result<Request, Malformed> {
        if !self.is_scheduled() {
            let wrong = typo::word(&self.request, &[names::REQUEST_SCHEDULED]);
            let accepted = names::REQUEST_SCHEDULED;
            return Err(wrong.in_field(names::REQUEST, &self.request, accepted));
        }
        let of_version = |bad: Malformed| bad.of(names::KUBERNETES_VERSION, version::ACCEPTED);
        let kubernetes = self.kubernetes.as_deref().map(str::parse).transpose();
        Ok(Request {
            wanted: self.wanted()?,
            kubernetes: kubernetes.map_err(of_version)?,
            id: self.id.as_deref().map(str::parse).transpose()?,
            soak_seconds: self.soak_seconds()?,
        })
    }

    fn wanted(&self) -> Result<Wanted, Malformed> {
        match &self.image {
            Some(image) => image.parse(),
            None => Err(Malformed {
                wrong: Some("the Node does not have this annotation".to_owned()),
                ..Malformed::new(names::IMAGE, "", ACCEPTED_WANTED)
            }),
        }
    }

    /// How long the new system must be healthy before it is blessed, in seconds, if the requester
    /// set it.
    ///
    /// # Errors
    /// The value is not a valid number of seconds.
    pub fn soak_seconds(&self) -> Result<Option<u64>, Malformed> {
        let Some(text) = &self.soak else {
            return Ok(None);
        };
        let seconds = typo::number(text, (0, SOAK_MAX));
        let bad = |wrong: Wrong| wrong.in_field(names::SOAK, text, "0 to 86400, in seconds");
        seconds.map(Some).map_err(bad)
    }
}

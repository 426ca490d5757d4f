//! The request on a Node: five annotations. Only this codec reads and writes them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Wanted;
use crate::id::{Malformed, UpgradeId, malformed};
use crate::names;
use crate::policy::SOAK_MAX;
use crate::version::Version;

/// The annotations of a request, in the order of the fields of [`RawRequest`].
pub const KEYS: [&str; 5] = [
    names::REQUEST,
    names::IMAGE,
    names::KUBERNETES_VERSION,
    names::UPGRADE_ID,
    names::SOAK,
];

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
            return Err(malformed(
                names::REQUEST,
                &self.request,
                names::REQUEST_SCHEDULED,
            ));
        }
        let image = self.image.as_deref().unwrap_or_default();
        let version = |text: &String| {
            text.parse().map_err(|_| {
                malformed(
                    names::KUBERNETES_VERSION,
                    text,
                    "vMAJOR.MINOR.PATCH, as v1.36.3",
                )
            })
        };
        Ok(Request {
            wanted: image.parse()?,
            kubernetes: self.kubernetes.as_ref().map(version).transpose()?,
            id: self.id.as_deref().map(str::parse).transpose()?,
            soak_seconds: self.soak_seconds()?,
        })
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
        match text.parse() {
            Ok(seconds) if seconds <= SOAK_MAX => Ok(Some(seconds)),
            Ok(_) | Err(_) => Err(malformed(names::SOAK, text, "0 to 86400")),
        }
    }
}

//! The meaning of the API server's answers, as types. No decision depends on their text.

use client::{NoAnswer, chain};
use kube::core::Status;
use kube::core::response::StatusCause;
use thiserror::Error;
use upgrade::Reason;

/// The type of the cause of a 403 while a namespace is being deleted: its pods terminate on their
/// own.
const NAMESPACE_TERMINATING: &str = "NamespaceTerminating";

/// How a request to the API server failed.
#[derive(Debug, Error)]
pub enum ApiError {
    /// No answer, or one that says "later": retry when the server is back.
    #[error("{0}")]
    Away(String),
    /// The object has changed since it was read: read it again.
    #[error("another client changed the object")]
    Conflict,
    /// The change does not fit the current object: a test in it failed, or the object would not be
    /// valid.
    #[error("{0}")]
    Unfit(String),
    /// The object is gone. For a pod, the Node authorizer returns 403 instead, see
    /// [`crate::drain`].
    #[error("the object does not exist")]
    Missing,
    /// 429: a disruption budget, or too many requests.
    #[error("{}", .0.message)]
    Blocked(Box<Status>),
    /// The server understood the request and refuses it. A retry does not help.
    #[error("{0}")]
    Refused(String),
}

impl ApiError {
    /// Whether the server answered, and says no.
    #[must_use]
    pub const fn is_refusal(&self) -> bool {
        match self {
            Self::Missing | Self::Unfit(_) | Self::Refused(_) => true,
            Self::Away(_) | Self::Conflict | Self::Blocked(_) => false,
        }
    }

    /// As a reason. `refused` makes the one for a server that says no, from its words: only the
    /// caller knows what was asked.
    #[must_use]
    pub fn into_reason(self, refused: impl FnOnce(String) -> Reason) -> Reason {
        match self {
            Self::Away(detail) => Reason::ApiAway { detail },
            // A blocked request means an overloaded server: an eviction's own 429 never gets here.
            Self::Conflict | Self::Blocked(_) => Reason::ApiAway {
                detail: self.to_string(),
            },
            Self::Missing | Self::Unfit(_) | Self::Refused(_) => refused(self.to_string()),
        }
    }
}

/// The reason for a request that is no part of a drain, by what it does.
pub fn refused(request: &str) -> impl FnOnce(String) -> Reason {
    move |detail| Reason::ApiRefused {
        request: request.to_owned(),
        detail,
    }
}

/// The reason for a request that cordons, drains or uncordons, by what it does.
pub fn undrained(request: &str) -> impl FnOnce(String) -> Reason {
    move |words| Reason::DrainRefused {
        detail: format!("cannot {request}: {words}"),
    }
}

impl From<NoAnswer> for ApiError {
    fn from(NoAnswer(limit): NoAnswer) -> Self {
        Self::Away(format!("no answer in {} s", limit.as_secs()))
    }
}

impl From<kube::Error> for ApiError {
    fn from(error: kube::Error) -> Self {
        if let kube::Error::Api(status) = error {
            from_status(status)
        } else {
            Self::Away(chain(&error))
        }
    }
}

fn from_status(status: Box<Status>) -> ApiError {
    match status.code {
        409 => ApiError::Conflict,
        404 => ApiError::Missing,
        // A patch that does not apply names no object (kubernetes,
        // apiserver/pkg/endpoints/handlers, `applyJSPatch`). An admission policy that gives no
        // reason answers 422 and names it (apiserver/pkg/admission/plugin/policy/validating,
        // `Dispatch`).
        422 if names_object(&status) => {
            ApiError::Refused(format!("{} ({})", status.message, status.code))
        }
        422 => ApiError::Unfit(format!("{} ({})", status.message, status.code)),
        429 => ApiError::Blocked(status),
        // 401: the certificate has expired or is being rotated, and the next attempt reads it
        // again. 408 and 5xx are temporary. After a list request that took too long (410), the next
        // one starts again.
        401 | 408 | 410 | 500..=599 => {
            ApiError::Away(format!("{} ({})", status.message, status.code))
        }
        403 if cause(&status, NAMESPACE_TERMINATING).is_some() => ApiError::Away(status.message),
        _ => ApiError::Refused(format!("{} ({})", status.message, status.code)),
    }
}

fn names_object(status: &Status) -> bool {
    let mut details = status.details.iter();
    details.any(|details| !details.name.is_empty())
}

/// The cause of this type, if the server gives one.
pub(crate) fn cause<'a>(status: &'a Status, kind: &str) -> Option<&'a StatusCause> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    causes.into_iter().find(|cause| cause.reason == kind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use upgrade::Disposition;

    fn answered(code: u16) -> ApiError {
        kube::Error::Api(Status::failure("words", "").with_code(code).boxed()).into()
    }

    #[test]
    fn a_server_that_is_busy_fails_or_was_overtaken_is_asked_again() {
        for code in [401, 408, 409, 410, 429, 500, 503] {
            let reason = answered(code).into_reason(refused("list the pods"));
            assert_eq!(reason.disposition(), Disposition::Retry, "{code}: {reason}");
        }
    }

    #[test]
    fn a_namespace_that_is_being_deleted_is_no_refusal() {
        let status = serde_json::json!({
            "code": 403, "message": "it is being terminated",
            "details": { "causes": [{ "reason": NAMESPACE_TERMINATING, "message": "", "field": "" }] },
        });
        let status: Status = serde_json::from_value(status).unwrap();
        let error = ApiError::from(kube::Error::Api(status.boxed()));
        assert!(matches!(error, ApiError::Away(_)), "{error:?}");
    }

    #[test]
    fn refusal_of_a_policy_is_no_failed_test_of_a_patch() {
        let answer = |name: &str| {
            let details = serde_json::json!({ "name": name });
            let status = serde_json::json!({ "code": 422, "message": "", "details": details });
            let status: Status = serde_json::from_value(status).unwrap();
            ApiError::from(kube::Error::Api(status.boxed()))
        };
        assert!(matches!(answer("node-1"), ApiError::Refused(_)));
        assert!(matches!(answer(""), ApiError::Unfit(_)));
    }

    #[test]
    fn a_server_that_says_no_is_believed() {
        for code in [400, 403, 404, 422] {
            let reason = answered(code).into_reason(refused("list the pods"));
            assert_eq!(reason.code(), "ApiRefused", "{code}");
        }
    }

    #[test]
    fn refused_request_is_named_and_only_a_drain_is_undrained() {
        let text = answered(403)
            .into_reason(refused("list the pods"))
            .to_string();
        assert!(
            text.contains("refuses to let the agent list the pods: words (403)"),
            "{text}"
        );
        assert!(!text.contains("cordoned"), "{text}");
        let text = answered(403)
            .into_reason(undrained("cordon the node"))
            .to_string();
        assert!(
            text.contains("cannot cordon the node: words (403)"),
            "{text}"
        );
    }
}

//! The HTTP response to a call.

use serde_json::{Value, json};

use super::refusal::Refusal;

/// An HTTP status and a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// The HTTP status. Core treats anything but 200 as an error and asks again.
    pub status: u16,
    /// The meaning, used as a metric label.
    pub outcome: &'static str,
    /// The JSON body.
    pub body: Value,
}

impl HttpResponse {
    /// Refuses a call that core would not make.
    #[must_use]
    pub fn refuse(refusal: &Refusal) -> Self {
        Self {
            status: refusal.status(),
            outcome: "Refused",
            body: json!({ "status": "Failure", "message": refusal.to_string() }),
        }
    }
}

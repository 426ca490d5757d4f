//! The time of day.

/// Seconds since 1970.
#[must_use]
pub fn now() -> i64 {
    k8s_openapi::jiff::Timestamp::now().as_second()
}

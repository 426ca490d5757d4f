//! The Lease of the lock, as the API server has it.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use upgrade::control_plane::{Held, Holder, LOCK, Lock};

/// Who holds it.
pub(crate) fn held(lease: &Lease) -> Held {
    let spec = lease.spec.as_ref();
    Held::of(spec.and_then(|spec| spec.holder_identity.as_deref()))
}

/// Who holds it, and since when; `None` if nobody does.
pub(crate) fn lock(lease: &Lease) -> Option<Lock> {
    let spec = lease.spec.as_ref()?;
    let since = spec.acquire_time.as_ref().or(spec.renew_time.as_ref());
    Some(Lock {
        holder: held(lease).name()?,
        since: since.and_then(|time| u64::try_from(time.0.as_second()).ok()),
    })
}

/// The Lease for this holder: a new one, or the same with another holder. It has no duration, so it
/// never expires.
pub(crate) fn held_by(before: Option<Lease>, holder: &Holder, now: u64) -> Lease {
    let changes = before.as_ref().map(|lease| {
        let spec = lease.spec.as_ref();
        let changes = spec.and_then(|spec| spec.lease_transitions);
        changes.unwrap_or(0).saturating_add(1)
    });
    let mut lease = before.unwrap_or_default();
    lease.metadata.name = Some(LOCK.to_owned());
    lease.spec = Some(LeaseSpec {
        holder_identity: Some(holder.to_string()),
        acquire_time: time(now).map(MicroTime),
        lease_transitions: changes,
        ..LeaseSpec::default()
    });
    lease
}

fn time(seconds: u64) -> Option<Timestamp> {
    Timestamp::from_second(i64::try_from(seconds).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn of(spec: Value) -> Lease {
        let metadata = json!({ "name": LOCK, "resourceVersion": "5", "labels": { "a": "b" } });
        serde_json::from_value(json!({ "metadata": metadata, "spec": spec })).unwrap()
    }

    #[test]
    fn a_lease_without_a_holder_is_free() {
        assert_eq!(lock(&of(json!({}))), None);
        assert_eq!(lock(&of(json!({ "holderIdentity": "" }))), None);
        let time = "2026-11-29T00:00:00.000000Z";
        let held = lock(&of(
            json!({ "holderIdentity": "cp-2/7", "acquireTime": time }),
        ));
        let since = Some(1_795_910_400);
        let holder = "cp-2/7".into();
        assert_eq!(held, Some(Lock { holder, since }));
    }

    #[test]
    fn a_lease_changes_its_holder_and_never_expires() {
        let holder: Holder = "cp-1/7".parse().unwrap();
        let new = held_by(None, &holder, 1_795_910_400);
        assert_eq!(held(&new), Held::By(holder.clone()));
        let spec = new.spec.unwrap();
        assert_eq!(
            (spec.lease_duration_seconds, spec.lease_transitions),
            (None, None)
        );
        let before = of(json!({ "holderIdentity": "cp-2/6", "leaseDurationSeconds": 15 }));
        let next = held_by(Some(before), &holder, 1_795_910_400);
        assert_eq!(lock(&next).unwrap().since, Some(1_795_910_400));
        // The server refuses the write if somebody else has written in between.
        assert_eq!(next.metadata.resource_version.as_deref(), Some("5"));
        assert!(next.metadata.labels.is_some());
        let spec = next.spec.unwrap();
        assert_eq!(
            (spec.lease_duration_seconds, spec.lease_transitions),
            (None, Some(1))
        );
    }
}

//! What a long life leaves in the record: request after request, good and bad, and it does not
//! swell.
#![allow(clippy::unwrap_used)]

mod scene;

use scene::*;
use upgrade::*;

/// The request with this number, for an image that nobody asked for before.
fn asked_for(number: u32) -> Observation {
    let image = format!("ostree:careen:os@{number:064x}");
    let id = Some(format!("upgrade-{number:04}"));
    quiet().with(|seen| seen.node.request = Asked::This(RawRequest { id, ..raw(&image) }))
}

/// The upgrade is at its last step: back in the old system after a trial that failed, or in the new
/// one, blessed.
fn nearly_over(mut record: Record, good: bool) -> Record {
    let up = record.upgrade.as_mut().unwrap();
    (up.custody, up.cleaned) = (given_back(), true);
    let health = Reason::Unhealthy {
        check: "kubelet".into(),
        detail: "connection refused".into(),
        seconds: 600,
        cause: Cause::Image,
    };
    up.phase = if good {
        (up.to, up.attempt.kubeadm.configured) =
            (Some(deployment('a')), Some(asked_for(0).turn.boot));
        Phase::Blessed
    } else {
        Phase::Reverting { reason: health }
    };
    record
}

/// Serves the request; every third image is good.
fn serve(record: &Record, number: u32) -> Record {
    let seen = asked_for(number);
    let (accepted, act) = next(&seen, record);
    assert_eq!(begun(&act), Some("Fetch"), "request {number} is taken");
    let good = number.is_multiple_of(3);
    let mut record = nearly_over(accepted, good);
    if good {
        record.upgrade.as_mut().unwrap().from = deployment('b');
    }
    let (ended, _) = next(&seen, &record);
    assert!(phase_of(&ended).is_end(), "{:?}", phase_of(&ended));
    ended
}

#[test]
fn record_size_does_not_grow_after_sixty_requests() {
    let (mut record, mut longest) = (Record::default(), [0; 2]);
    for number in 1..=100 {
        record = serve(&record, number);
        assert_eq!(record.answered, u64::from(number));
        let length = serde_json::to_vec(&record).unwrap().len();
        let late = usize::from(number > 60);
        longest[late] = longest[late].max(length);
    }
    // Counters grow by a digit now and then.
    assert!(longest[1] <= longest[0] + 8, "{longest:?} bytes");
    assert!(longest[1] < 16 * 1024, "{longest:?} bytes");
}

use infrastructure::Claim;

use super::*;

const ID: &str = "00000000000000aa";

fn key() -> Key {
    Key::new("ns", "h")
}

fn host(phase: Phase, wanted: Wanted) -> Host {
    Host {
        claim: Some(Claim {
            id: ID.to_owned(),
            wanted,
            ..Claim::default()
        }),
        observed: Some(ID.to_owned()),
        phase,
        ..Host::default()
    }
}

fn free() -> Host {
    Host {
        phase: Phase::Available,
        ..Host::default()
    }
}

/// The operations that succeed while a host goes this way, each with its seconds.
fn succeeded(way: &[Host]) -> Vec<(Operation, u64)> {
    let spans = Spans::default();
    let mut all = Vec::new();
    let mut now = Instant::now();
    for host in way {
        let done = spans.host(&key(), host, now);
        all.extend(done.map(|(what, time)| (what, time.as_secs())));
        now += Duration::from_secs(10);
    }
    all
}

#[test]
fn each_operation_of_a_host_is_timed_once() {
    let (joined, released) = (Wanted::Joined, Wanted::Released);
    let way = [
        free(),
        host(Phase::Imaging, joined),
        host(Phase::Imaging, joined),
        host(Phase::Joining, joined),
        host(Phase::Joined, joined),
        host(Phase::Joined, released),
        host(Phase::Fencing, released),
        host(Phase::Cleaning, released),
        host(Phase::Available, released),
        free(),
    ];
    let all = [
        (Operation::Image, 20),
        (Operation::Join, 10),
        (Operation::Release, 20),
        (Operation::Clean, 10),
    ];
    assert_eq!(succeeded(&way), all);
}

#[test]
fn what_failed_or_began_unseen_is_not_timed() {
    let (joined, released) = (Wanted::Joined, Wanted::Released);
    let unseen = [host(Phase::Imaging, joined), host(Phase::Joining, joined)];
    assert_eq!(succeeded(&unseen), []);
    let failed = [
        free(),
        host(Phase::Imaging, joined),
        host(Phase::Failed, joined),
        host(Phase::Failed, released),
        host(Phase::Cleaning, released),
        host(Phase::Quarantined, released),
    ];
    assert_eq!(succeeded(&failed), [(Operation::Release, 10)]);
}

#[test]
fn claim_is_timed_from_the_first_wait() {
    let (spans, start) = (Spans::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    spans.claim_begins(&key(), start);
    spans.claim_begins(&key(), at(1));
    let took = spans.claim_ends(&key(), at(2));
    assert_eq!(took, Some(Duration::from_secs(2)));
    assert_eq!(spans.claim_ends(&key(), at(3)), None);
    spans.claim_begins(&key(), at(4));
    spans.forget_machine(&key());
    assert_eq!(spans.claim_ends(&key(), at(5)), None);
}

#[test]
fn trouble_that_lasts_is_counted_once() {
    let spans = Spans::default();
    let failed = |reason: &str| Why::HostFailed {
        host: "h".to_owned(),
        reason: reason.to_owned(),
    };
    let gone = Why::HostGone {
        host: "h".to_owned(),
    };
    assert!(!spans.is_new_trouble(&key(), &Why::NoData));
    assert!(spans.is_new_trouble(&key(), &failed("ImageFailed")));
    assert!(!spans.is_new_trouble(&key(), &Why::Moving));
    assert!(!spans.is_new_trouble(&key(), &failed("ImageFailed")));
    assert!(spans.is_new_trouble(&key(), &gone));
    assert!(!spans.is_new_trouble(&key(), &Why::Running));
    assert!(spans.is_new_trouble(&key(), &gone));
}

#[test]
fn roll_lasts_from_the_first_order_to_the_last_arrival() {
    let (spans, start) = (Spans::default(), Instant::now());
    let at = |seconds| start + Duration::from_secs(seconds);
    assert_eq!(spans.roll_ends(&key(), start), None);
    spans.update_begins(&key(), "a", start);
    let none = spans.updates_end(&key(), at(1), |_| Update::UnderWay);
    assert!(none.is_empty());
    let one = spans.updates_end(&key(), at(1), |_| Update::Arrived);
    assert_eq!(one, [Duration::from_secs(1)]);
    spans.update_begins(&key(), "b", at(1));
    let none = spans.updates_end(&key(), at(2), |_| Update::Given);
    assert!(none.is_empty());
    let took = spans.roll_ends(&key(), at(3));
    assert_eq!(took, Some(Duration::from_secs(3)));
    assert_eq!(spans.roll_ends(&key(), at(4)), None);
}

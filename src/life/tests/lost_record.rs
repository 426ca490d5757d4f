//! A host that has lost its record.
#![allow(clippy::unwrap_used)]

mod scene;

use life::{Act, Checks, Fence, Observation, Phase, Record, decide, status};
use scene::{claimed, id, released};

/// The provider lets the old Node go when a claim has ended on the host. A host without its record
/// does not know whose kubelet it runs.
#[test]
fn a_claim_does_not_end_while_a_kubelet_runs() {
    let seen = |checks: Checks, fence: Fence| Observation {
        checks,
        fence,
        ..claimed(released('a'))
    };
    let open = || Fence::Open(vec!["kubelet.service".to_owned()]);
    let red = || Checks::Red(vec!["/var/lib/cni".to_owned()]);
    for checks in [red(), Checks::Green] {
        let observed = seen(checks.clone(), open());
        let decision = decide(&Ok(Record::default()), &observed);
        assert_eq!((decision.record, decision.act), (None, Act::Wait));
        let said = status(&Ok(Record::default()), &observed);
        assert_eq!(said.observed_claim, None, "{said:?}");

        let observed = seen(checks, Fence::Whole);
        let ended = decide(&Ok(Record::default()), &observed).record.unwrap();
        assert!(ended.has_ended(&id('a')));
        let said = status(&Ok(ended), &observed);
        assert!(matches!(said.phase, Phase::Registered | Phase::Available));
        assert_eq!(said.observed_claim, Some(id('a')));
    }
}

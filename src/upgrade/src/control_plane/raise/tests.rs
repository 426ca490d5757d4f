use super::*;
use crate::id::Digest;

const NOW: u64 = 1_800_000_000;

#[test]
fn the_table_of_what_kubeadm_runs() {
    let (apply, node) = (Some(Run::Apply), Some(Run::Node));
    for (verb, under_way, expected) in [
        (Verb::Apply, None, Ok(apply)),
        (Verb::Apply, apply, Ok(apply)),
        (Verb::Apply, node, Ok(apply)),
        (Verb::Node, None, Ok(node)),
        (Verb::Node, apply, Ok(apply)),
        (Verb::Node, node, Ok(node)),
        (Verb::Nothing, None, Ok(None)),
        (Verb::Nothing, apply, Ok(apply)),
        (Verb::Nothing, node, Ok(node)),
        (Verb::ManagedElsewhere, apply, Err(Verb::ManagedElsewhere)),
        (Verb::StepTooLarge, apply, Err(Verb::StepTooLarge)),
        (Verb::CutShort, None, Err(Verb::CutShort)),
    ] {
        assert_eq!(run(verb, under_way), expected, "{verb:?} {under_way:?}");
    }
}

fn may_change(tags: [&str; 2], differs: bool, server: bool, days: u64) -> bool {
    let [live, wanted] = tags.map(|tag| tag.parse().unwrap());
    let certificate = |days: u64| Certificate {
        name: "pki/etcd/server.crt".into(),
        from: 0,
        until: NOW + days * 24 * 3600,
    };
    may_change_etcd(&EtcdFacts {
        live: &live,
        wanted: &wanted,
        differs,
        server_differs: server,
        certificates: &[certificate(300), certificate(days)],
        now: NOW,
    })
}

#[test]
fn etcd_restarts_only_for_a_new_manifest_or_an_old_certificate() {
    let same = ["3.6.8-0", "3.6.8-0"];
    assert!(!may_change(same, false, true, 180));
    assert!(may_change(same, false, true, 179));
    assert!(may_change(same, false, true, 0));
    assert!(
        !may_change(same, false, false, 0),
        "kubeadm would not renew it"
    );
    assert!(may_change(same, true, false, 300));
    assert!(may_change(["3.6.6-0", "3.6.8-0"], true, true, 300));
}

#[test]
fn etcd_is_never_taken_back() {
    for differs in [false, true] {
        assert!(!may_change(["3.7.0-0", "3.6.8-0"], differs, true, 0));
    }
}

fn kept(letter: char) -> Option<Kept> {
    let digest = digest(letter);
    Some(Kept { digest, etcd: None })
}

fn digest(letter: char) -> Digest {
    String::from(letter).repeat(64).parse().unwrap()
}

/// All four manifests, of which one is this.
fn with(component: Component, live: Live) -> BTreeMap<Component, Pages> {
    let all = Component::ALL.map(|one| {
        let usual = if one == Component::Etcd { 'b' } else { 'e' };
        let live = match one == component {
            true => live.clone(),
            false => Live::Text(digest(usual)),
        };
        let pages = Pages {
            live,
            before: kept('b'),
            expected: kept('e'),
            last: kept('b'),
        };
        (one, pages)
    });
    all.into()
}

#[test]
fn each_manifest_that_kubeadm_did_not_write_is_named() {
    for component in Component::KUBERNETES {
        for live in [Live::Missing, Live::Empty, Live::Text(digest('b'))] {
            assert_eq!(not_written(false, &with(component, live)), [component]);
        }
    }
    let good = with(Component::ApiServer, Live::Text(digest('e')));
    assert_eq!(not_written(false, &good), []);
    assert_eq!(not_written(true, &good), [Component::Etcd]);
}

#[test]
fn an_etcd_that_was_to_stay_must_be_the_one_from_before() {
    for live in [Live::Missing, Live::Empty, Live::Text(digest('e'))] {
        let mut all = with(Component::Etcd, live);
        all.get_mut(&Component::Etcd).unwrap().expected = None;
        assert_eq!(not_written(false, &all), [Component::Etcd]);
    }
    let raised = with(Component::Etcd, Live::Text(digest('e')));
    assert_eq!(not_written(true, &raised), []);
    assert_eq!(not_written(false, &raised), [], "an earlier run raised it");
}

#[test]
fn a_node_without_etcd_is_not_asked_for_it() {
    let mut all = with(Component::Etcd, Live::Missing);
    let etcd = all.get_mut(&Component::Etcd).unwrap();
    (etcd.before, etcd.expected, etcd.last) = (None, None, None);
    assert_eq!(not_written(false, &all), []);
    assert_eq!(not_written(true, &all), []);
}

#[test]
fn the_answers_are_as_the_agent_reads_them() {
    let raised = Ended::Raised("v1.36.4".parse().unwrap());
    let text = serde_json::to_string(&raised).unwrap();
    assert_eq!(text, r#"{"raised":"v1.36.4"}"#);
    let failed = Ended::NotRaised(NotRaised {
        phase: Phase::Kubeadm,
        detail: "exit status 1".into(),
        swapped: true,
        versions: BTreeMap::from([(Component::Etcd, "3.6.8-0".into())]),
    });
    let text = serde_json::to_string(&failed).unwrap();
    assert_eq!(
        text,
        r#"{"notRaised":{"phase":"kubeadm","detail":"exit status 1","swapped":true,"versions":{"etcd":"3.6.8-0"}}}"#
    );
    assert_eq!(serde_json::from_str::<Ended>(&text).unwrap(), failed);
}

#[test]
fn a_note_is_read_as_it_was_written() {
    let text = r#"{"to":"v1.36.4","run":"apply","at":7,"state":"raising"}"#;
    let note: Note = serde_json::from_str(text).unwrap();
    assert!(!note.etcd && note.state == State::Raising);
    assert_eq!(serde_json::to_string(&note).unwrap(), text);
}

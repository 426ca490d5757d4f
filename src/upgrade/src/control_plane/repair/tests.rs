use super::*;

const OLD: EtcdVersion = EtcdVersion::new(3, 6, 8);
const NEW: EtcdVersion = EtcdVersion::new(3, 7, 0);

fn digest(letter: char) -> Digest {
    String::from(letter).repeat(64).parse().unwrap()
}

fn kept(letter: char, etcd: Option<EtcdVersion>) -> Kept {
    let digest = digest(letter);
    Kept { digest, etcd }
}

/// A component whose copies are called b, e and d.
fn pages(live: Live, last: char) -> Pages {
    Pages {
        live,
        before: Some(kept('b', None)),
        expected: Some(kept('e', None)),
        last: Some(kept(last, None)),
    }
}

fn one(component: Component, served: Option<EtcdVersion>, pages: &Pages) -> Option<Repair> {
    let all = BTreeMap::from([(component, pages.clone())]);
    let found = repairs(true, served, &all);
    assert!(found.len() <= 1);
    found.first().copied()
}

#[test]
fn the_last_whole_manifest_comes_back() {
    for (live, fault) in [
        (Live::Missing, Fault::Missing),
        (Live::Empty, Fault::Empty),
        (Live::Text(digest('0')), Fault::Unknown),
    ] {
        for component in Component::ALL {
            let repair = one(component, None, &pages(live.clone(), 'd'));
            let with = Some(Page::Last);
            let expected = Repair {
                component,
                fault,
                with,
            };
            assert_eq!(repair, Some(expected));
        }
    }
}

#[test]
fn a_known_manifest_is_left_alone() {
    for letter in ['b', 'e', 'd'] {
        let live = Live::Text(digest(letter));
        assert_eq!(one(Component::ApiServer, None, &pages(live, 'd')), None);
    }
}

#[test]
fn nothing_is_written_while_nothing_is_raised() {
    let all = Component::ALL.map(|one| (one, pages(Live::Missing, 'd')));
    assert_eq!(repairs(false, Some(NEW), &all.into()), []);
}

#[test]
fn a_pod_that_the_ledger_never_saw_is_not_touched() {
    for live in [Live::Missing, Live::Empty, Live::Text(digest('0'))] {
        let none = Pages {
            live,
            before: None,
            expected: None,
            last: None,
        };
        assert_eq!(one(Component::Etcd, Some(NEW), &none), None);
    }
}

#[test]
fn kubeadms_rollback_of_a_raised_etcd_is_taken_back() {
    // kubeadm put the old one back, and it was kept as the last one before the new one had served.
    let pages = Pages {
        live: Live::Text(digest('b')),
        before: Some(kept('b', Some(OLD))),
        expected: Some(kept('e', Some(NEW))),
        last: Some(kept('b', Some(OLD))),
    };
    assert_eq!(one(Component::Etcd, Some(OLD), &pages), None);
    let repair = one(Component::Etcd, Some(NEW), &pages).unwrap();
    assert_eq!(
        (repair.fault, repair.with),
        (Fault::OlderEtcd, Some(Page::Expected))
    );
    assert!(!may_follow(
        Component::Etcd,
        pages.before.as_ref().unwrap(),
        Some(NEW)
    ));
}

#[test]
fn without_a_usable_copy_a_person_must_look() {
    let pages = Pages {
        live: Live::Missing,
        before: Some(kept('b', Some(OLD))),
        expected: None,
        last: Some(kept('d', None)),
    };
    let repair = one(Component::Etcd, Some(NEW), &pages).unwrap();
    assert_eq!((repair.fault, repair.with), (Fault::Missing, None));
}

/// Each live file, with and without each copy, with each etcd in it.
fn every_case() -> impl Iterator<Item = Pages> {
    let lives = ['b', 'e', 'd', '0'].map(|letter| Live::Text(digest(letter)));
    let lives = [Live::Missing, Live::Empty].into_iter().chain(lives);
    let copy = |letter| {
        let etcds = [None, Some(OLD), Some(NEW)];
        let some = etcds.into_iter().map(move |etcd| Some(kept(letter, etcd)));
        [None].into_iter().chain(some)
    };
    lives.flat_map(move |live| {
        copy('b').flat_map(move |before| {
            let live = live.clone();
            copy('e').flat_map(move |expected| {
                let (live, before) = (live.clone(), before.clone());
                copy('d').map(move |last| Pages {
                    live: live.clone(),
                    before: before.clone(),
                    expected: expected.clone(),
                    last,
                })
            })
        })
    })
}

#[test]
fn a_repair_never_starts_an_older_etcd_and_is_done_once() {
    for served in [None, Some(OLD), Some(NEW)] {
        for mut pages in every_case() {
            let Some(repair) = one(Component::Etcd, served, &pages) else {
                continue;
            };
            let with = match repair.with {
                None => {
                    assert!(pages.copies().all(|(_, kept)| kept.etcd != Some(NEW)));
                    continue;
                }
                Some(Page::Before) => &pages.before,
                Some(Page::Expected) => &pages.expected,
                Some(Page::Last) => &pages.last,
            };
            let with = with.clone().unwrap();
            let is_older = |served: EtcdVersion| with.etcd.is_none_or(|etcd| etcd < served);
            assert!(!served.is_some_and(is_older), "{pages:?}");
            pages.live = Live::Text(with.digest);
            assert_eq!(one(Component::Etcd, served, &pages), None, "{pages:?}");
        }
    }
}

#[test]
fn after_a_repair_a_manifest_is_there_or_a_person_is_called() {
    for component in Component::ALL {
        for pages in every_case() {
            let is_there = matches!(&pages.live, Live::Text(live)
                if pages.copies().any(|(_, kept)| kept.digest == *live));
            let repair = one(component, None, &pages);
            let has_copy = pages.copies().next().is_some();
            assert_eq!(repair.is_some(), has_copy && !is_there, "{pages:?}");
            assert!(repair.is_none_or(|repair| repair.with.is_some()));
        }
    }
}

//! Which pods come back to the cordoned node. Their controller replaces them here as often as they
//! are evicted, so the drain does not wait for them: they are daemons, whatever their controller
//! is.

use std::collections::{HashMap, HashSet};

use k8s_openapi::jiff::Timestamp;
use upgrade::reason::few;

use super::pods::{Found, Victim};

/// How many pods a controller may bring for each pod that it had, where these pods do not tolerate
/// the cordon. The scheduler's copy of the Node lags, so it may bind one or two after the cordon.
/// A controller that goes on writes the node's name itself.
const LATE: usize = 3;

/// What the drain has seen of each controller.
#[derive(Default)]
pub struct Returning {
    looked: bool,
    controllers: HashMap<String, Controller>,
    named: Vec<String>,
}

#[derive(Default)]
struct Controller {
    /// The pods that must go: those of the first look, and late ones.
    must_go: HashSet<String>,
    /// How many pods were there before one of them was lost.
    there: usize,
    /// When the first of its pods began to end, by the server's clock.
    ending: Option<Timestamp>,
    stay: HashSet<String>,
    /// One of its pods ends or is gone, so a new one may be its successor.
    has_lost: bool,
}

impl Returning {
    /// The pods of this list that must go. The first list is what the drain moves. A later pod of
    /// a controller that had a pod here is its successor, if it tolerates the cordon.
    pub fn sift(&mut self, list: Vec<Found>) -> Vec<Victim> {
        for pod in &list {
            self.note_end(pod);
        }
        self.note_losses(&list);
        let going: Vec<_> = list.into_iter().filter(|pod| self.must_go(pod)).collect();
        self.looked = true;
        going.into_iter().map(|pod| pod.victim).collect()
    }

    /// The pods that came back and stay, for a person.
    #[must_use]
    pub fn told(&self) -> Option<String> {
        (!self.named.is_empty()).then(|| {
            let named = few(&self.named);
            format!(
                "left alone, because their controllers replace them on the cordoned node: {named}"
            )
        })
    }

    /// A pod's deletion began its grace period before the deletion timestamp
    /// (k8s.io/apimachinery, `ObjectMeta.DeletionTimestamp`).
    fn note_end(&mut self, pod: &Found) {
        let Some(ending) = pod.ending else {
            return;
        };
        let controller = self.controllers.entry(pod.line.clone()).or_default();
        let first = controller.ending.map_or(ending, |at| at.min(ending));
        controller.ending = Some(first);
    }

    /// A list may show a part of the pods. A pod that appears while all others of its controller
    /// are there and none ends is no successor.
    fn note_losses(&mut self, list: &[Found]) {
        let listed: HashSet<_> = list.iter().map(|pod| pod.victim.uid.as_str()).collect();
        for controller in self.controllers.values_mut() {
            let mut must_go = controller.must_go.iter();
            let is_gone = must_go.any(|uid| !listed.contains(uid.as_str()));
            controller.has_lost |= is_gone || controller.ending.is_some();
        }
    }

    fn must_go(&mut self, pod: &Found) -> bool {
        let controller = self.controllers.entry(pod.line.clone()).or_default();
        let uid = &pod.victim.uid;
        let first = controller.must_go.is_empty();
        if (!self.looked || first || !controller.has_lost) && !controller.knows(uid) {
            controller.there += 1;
        }
        if !self.looked || first || controller.must_go.contains(uid) || controller.is_late(pod) {
            controller.must_go.insert(uid.clone());
            return true;
        }
        if controller.stay.is_empty() {
            tracing::info!(
                "pod {} stays: its controller replaces it on the cordoned node",
                pod.victim
            );
            self.named.push(pod.victim.to_string());
        }
        controller.stay.insert(uid.clone());
        false
    }
}

impl Controller {
    fn knows(&self, uid: &str) -> bool {
        self.must_go.contains(uid) || self.stay.contains(uid)
    }

    /// Whether a pod that the first look did not show must go all the same: the scheduler bound it
    /// before it knew of the cordon.
    fn is_late(&self, pod: &Found) -> bool {
        if self.stay.contains(&pod.victim.uid) {
            return false;
        }
        if !self.has_lost {
            return true;
        }
        let before = self.ending.zip(pod.created);
        if before.is_some_and(|(ending, created)| created < ending) {
            return true;
        }
        let late = self.must_go.len() - self.there;
        !pod.tolerates_cordon && late < LATE * self.there
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(uid: &str, tolerates_cordon: bool) -> Found {
        Found {
            victim: Victim {
                namespace: "shop".to_owned(),
                name: uid.to_owned(),
                uid: uid.to_owned(),
                priority: 0,
                grace: 30,
            },
            line: "set".to_owned(),
            tolerates_cordon,
            created: Some(at(60)),
            ending: None,
            ends: None,
            finalizers: Vec::new(),
        }
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn going(returning: &mut Returning, list: &[Found]) -> Vec<String> {
        let going = returning.sift(list.to_vec());
        going.into_iter().map(|victim| victim.uid).collect()
    }

    #[test]
    fn pod_that_tolerates_the_cordon_is_evicted_once() {
        let mut returning = Returning::default();
        assert_eq!(going(&mut returning, &[pod("a", true)]), ["a"]);
        let ending = Found {
            ending: Some(at(60)),
            ..pod("a", true)
        };
        let both = [ending, pod("b", true)];
        assert_eq!(going(&mut returning, &both), ["a"]);
        for next in ["b", "c", "d"] {
            assert!(going(&mut returning, &[pod(next, true)]).is_empty());
        }
        let told = returning.told().unwrap();
        assert!(told.ends_with(": shop/b"), "named once: {told}");
    }

    #[test]
    fn every_pod_of_the_first_look_must_go() {
        let mut returning = Returning::default();
        let both = [pod("a", true), pod("b", true)];
        for _ in 0..2 {
            assert_eq!(going(&mut returning, &both), ["a", "b"]);
        }
        assert_eq!(returning.told(), None);
    }

    #[test]
    fn pods_that_the_first_list_did_not_show_must_go() {
        let mut returning = Returning::default();
        assert_eq!(going(&mut returning, &[pod("a", true)]), ["a"]);
        let both = [pod("a", true), pod("b", true)];
        assert_eq!(going(&mut returning, &both), ["a", "b"]);
        let successor = [pod("b", true), pod("c", true)];
        assert_eq!(going(&mut returning, &successor), ["b"]);
    }

    #[test]
    fn tolerant_pod_older_than_the_eviction_must_go() {
        let mut returning = Returning::default();
        going(&mut returning, &[pod("a", true)]);
        let ending = Found {
            ending: Some(at(61)),
            ..pod("a", true)
        };
        let seen_late = pod("b", true);
        let list = [ending, seen_late];
        assert_eq!(going(&mut returning, &list), ["a", "b"]);
        let successor = Found {
            created: Some(at(61)),
            ..pod("c", true)
        };
        assert!(going(&mut returning, &[successor]).is_empty());
    }

    #[test]
    fn successor_that_does_not_tolerate_the_cordon_must_go() {
        let mut returning = Returning::default();
        for uid in ["a", "b", "c"] {
            assert_eq!(going(&mut returning, &[pod(uid, false)]), [uid]);
        }
    }

    #[test]
    fn controller_that_names_the_node_itself_is_not_chased_for_ever() {
        let mut returning = Returning::default();
        let both = [pod("a", false), pod("b", false)];
        assert_eq!(going(&mut returning, &both), ["a", "b"]);
        for round in 0..2 * LATE {
            let uid = format!("late-{round}");
            assert_eq!(going(&mut returning, &[pod(&uid, false)]), [uid]);
        }
        assert!(going(&mut returning, &[pod("z", false)]).is_empty());
    }

    #[test]
    fn controller_seen_after_the_first_look_loses_one_pod() {
        let mut returning = Returning::default();
        going(&mut returning, &[]);
        assert_eq!(going(&mut returning, &[pod("a", true)]), ["a"]);
        assert!(going(&mut returning, &[pod("b", true)]).is_empty());
    }

    #[test]
    fn pod_without_an_owner_comes_back_by_its_name() {
        let mut returning = Returning::default();
        let bare = |name: &str, uid: &str| Found {
            line: format!("shop/{name}"),
            ..pod(uid, true)
        };
        for name in ["x", "y"] {
            let first = bare(name, &format!("{name}-1"));
            assert_eq!(going(&mut returning, &[first]), [format!("{name}-1")]);
        }
        assert!(going(&mut returning, &[bare("x", "x-2")]).is_empty());
    }
}

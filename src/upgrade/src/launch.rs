//! Which agent runs if there are several: the one in the image, or one that a DaemonSet's pod has
//! installed on the node.
//!
//! This module is pure. `host::agents` finds the agents and verifies them; `careen-agent launch`
//! runs the chosen one.

use crate::release::Release;

/// How often a new agent may be started before it must have shown that it runs. Three: an agent
/// that is interrupted by a reboot or killed in its first minute has done nothing wrong yet.
pub const STARTS: u32 = 3;

/// How long an agent must run without interruption, in seconds, until its start counts as
/// successful. By then it has read the record, set up its watch and outlived every timeout of its
/// start.
pub const LASTS: u64 = 60;

/// An agent that a pod has installed; its digests are verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its version.
    pub release: Release,
    /// How often it was started without showing that it runs. For one that has shown it, the failed
    /// starts in this boot.
    pub starts: u32,
}

/// The agents to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The image's own agent.
    pub image: Option<Release>,
    /// The agent that the pod wants to run.
    pub wanted: Option<Installed>,
    /// The last agent from a pod that has shown that it runs.
    pub proven: Option<Installed>,
}

/// One of the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The image's own agent.
    Image,
    /// The agent that the pod wants to run.
    Wanted,
    /// The agent that has shown that it runs.
    Proven,
}

/// The newest agent that can be trusted to run. Of two with the same version, the image's: the
/// guard of the initramfs has checked it, and it needs no /var.
///
/// A pod's agent that has not shown that it runs is dropped after [`STARTS`]. That needs no pod, so
/// it also works in a boot without network. One that has shown it in another boot may have been
/// built for a newer system than this one. It is dropped as soon, but only for the image's agent.
#[must_use]
pub fn choose(there: &Candidates) -> Option<Choice> {
    let pods = match (&there.wanted, &there.proven) {
        (Some(wanted), _) if wanted.starts < STARTS => Some((wanted, Choice::Wanted)),
        (_, Some(proven)) if proven.starts < STARTS => Some((proven, Choice::Proven)),
        // If there is no other agent, it is tried forever.
        (_, Some(proven)) if there.image.is_none() => Some((proven, Choice::Proven)),
        (Some(wanted), None) if there.image.is_none() => Some((wanted, Choice::Wanted)),
        (_, Some(_)) | (Some(_), None) | (None, None) => None,
    };
    match (&there.image, pods) {
        (Some(image), Some((pod, choice))) if pod.release > *image => Some(choice),
        (Some(_), _) => Some(Choice::Image),
        (None, Some((_, choice))) => Some(choice),
        (None, None) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn release(patch: u32) -> Release {
        format!("0.1.{patch}").parse().unwrap()
    }

    fn installed(patch: u32, starts: u32) -> Option<Installed> {
        Some(Installed {
            release: release(patch),
            starts,
        })
    }

    fn chosen(
        image: Option<u32>,
        wanted: Option<Installed>,
        proven: Option<Installed>,
    ) -> Option<Choice> {
        choose(&Candidates {
            image: image.map(release),
            wanted,
            proven,
        })
    }

    #[test]
    fn without_a_pod_it_is_the_images() {
        assert_eq!(chosen(Some(1), None, None), Some(Choice::Image));
    }

    #[test]
    fn pod_agent_is_chosen_only_when_newer_than_the_image() {
        assert_eq!(chosen(Some(1), installed(2, 0), None), Some(Choice::Wanted));
        assert_eq!(chosen(Some(2), installed(2, 0), None), Some(Choice::Image));
        assert_eq!(
            chosen(Some(3), installed(2, 0), installed(2, 0)),
            Some(Choice::Image)
        );
    }

    #[test]
    fn a_new_one_that_does_not_start_gives_way_to_the_proven_one() {
        assert_eq!(
            chosen(Some(1), installed(3, STARTS - 1), installed(2, 0)),
            Some(Choice::Wanted)
        );
        assert_eq!(
            chosen(Some(1), installed(3, STARTS), installed(2, 0)),
            Some(Choice::Proven)
        );
        assert_eq!(
            chosen(None, installed(3, STARTS), installed(2, 0)),
            Some(Choice::Proven)
        );
    }

    #[test]
    fn failed_pod_agent_yields_to_the_image_without_a_newer_proven() {
        assert_eq!(
            chosen(Some(1), installed(3, STARTS), None),
            Some(Choice::Image)
        );
        assert_eq!(
            chosen(Some(2), installed(3, STARTS), installed(1, 0)),
            Some(Choice::Image)
        );
    }

    #[test]
    fn failed_proven_agent_yields_to_the_image_if_there_is_one() {
        for wanted in [installed(3, STARTS), None] {
            let proven = |starts| installed(3, starts);
            assert_eq!(
                chosen(Some(1), wanted.clone(), proven(STARTS - 1)),
                Some(Choice::Proven)
            );
            assert_eq!(
                chosen(Some(1), wanted.clone(), proven(STARTS)),
                Some(Choice::Image)
            );
            assert_eq!(chosen(None, wanted, proven(STARTS)), Some(Choice::Proven));
        }
    }

    #[test]
    fn older_agent_wanted_by_the_pod_replaces_the_proven_one() {
        assert_eq!(
            chosen(None, installed(1, 0), installed(2, 0)),
            Some(Choice::Wanted)
        );
    }

    #[test]
    fn the_only_one_there_is_runs_however_often_it_has_failed() {
        assert_eq!(chosen(None, installed(1, 99), None), Some(Choice::Wanted));
        assert_eq!(chosen(None, None, None), None);
    }

    #[test]
    fn choice_is_always_an_existing_agent_and_none_only_without_any() {
        let pods = [None, installed(1, 0), installed(2, 1), installed(3, STARTS)];
        for image in [None, Some(1), Some(2)] {
            for wanted in &pods {
                for proven in &pods {
                    let choice = chosen(image, wanted.clone(), proven.clone());
                    match choice {
                        Some(Choice::Image) => assert!(image.is_some()),
                        Some(Choice::Wanted) => assert!(wanted.is_some()),
                        Some(Choice::Proven) => assert!(proven.is_some()),
                        None => assert!(image.is_none() && wanted.is_none() && proven.is_none()),
                    }
                }
            }
        }
    }
}

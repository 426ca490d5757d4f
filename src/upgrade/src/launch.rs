//! Which agent runs where there are several: the image's, and what a DaemonSet's pod has installed on the node.
//!
//! Pure. What is there, and that it is whole, `host::agents` finds out; `careen-agent launch` runs what is chosen.

use crate::release::Release;

/// How often a new agent may be started before it must have shown that it runs. Three: an agent that is cut off by a reboot or killed
/// in its first minute has done nothing wrong yet.
pub const STARTS: u32 = 3;

/// How long an agent must have run in one piece, in seconds, until its start was none that failed: it has then read the record, taken up its
/// watch and outlived every time-out of its start.
pub const LASTS: u64 = 60;

/// An agent that a pod has installed, its digests checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installed {
    /// Its version.
    pub release: Release,
    /// How often it was started and has not shown that it runs; of one that has, how often in this boot without showing it again.
    pub starts: u32,
}

/// What there is to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// The image's own.
    pub image: Option<Release>,
    /// What the pod wants to run.
    pub wanted: Option<Installed>,
    /// What the pods brought last of all that has shown that it runs.
    pub proven: Option<Installed>,
}

/// One of the candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The image's own.
    Image,
    /// What the pod wants to run.
    Wanted,
    /// What has shown that it runs.
    Proven,
}

/// The newest that can be trusted to run. Of two of the same version the image's: the guard of the initramfs has looked at it, and it
/// needs no /var. A pod's agent that has not shown that it runs is given up after [`STARTS`]: that needs no pod, so it holds in a boot
/// without network too. One that has shown it elsewhere may have been built for a newer system than this one, and gives way as soon, but to
/// an agent of the image alone.
#[must_use]
pub fn choose(there: &Candidates) -> Option<Choice> {
    let pods = match (&there.wanted, &there.proven) {
        (Some(wanted), _) if wanted.starts < STARTS => Some((wanted, Choice::Wanted)),
        (_, Some(proven)) if proven.starts < STARTS => Some((proven, Choice::Proven)),
        // Where there is nothing else it is tried for ever.
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

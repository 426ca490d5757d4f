//! What kubeadm has to do on this node, from versions alone.

use crate::version::Version;

use super::survey::Owner;

/// The work that the control plane of this node needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// `kubeadm upgrade apply`: this node is the first one.
    Apply,
    /// `kubeadm upgrade node`: another one, or KubeadmControlPlane, has begun.
    Node,
    /// Nothing: the image alone is new, or older than the control plane.
    Nothing,
    /// KubeadmControlPlane owns the control plane and has not begun this version.
    ManagedElsewhere,
    /// The image is more than one minor ahead of the control plane.
    StepTooLarge,
    /// The manifests are newer than kubeadm-config: an upgrade to that version was cut.
    CutShort,
}

impl Verb {
    /// The verb in words, for a person.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::Apply => "kubeadm upgrade apply",
            Self::Node => "kubeadm upgrade node",
            Self::Nothing => "nothing to do for the control plane",
            Self::ManagedElsewhere => "wait for KubeadmControlPlane",
            Self::StepTooLarge => "none: the step is too large",
            Self::CutShort => "none: an earlier upgrade was cut",
        }
    }
}

/// The verb for an image of this version. `cluster` is the version of kubeadm-config, `manifests`
/// are those of the static pods that have Kubernetes' version, and `differs` says whether what
/// kubeadm would write differs from them.
#[must_use]
pub fn verb(
    cluster: &Version,
    manifests: &[Version],
    image: &Version,
    owner: Owner,
    differs: bool,
) -> Verb {
    // A control plane only goes forward. An image that would take a manifest back is no step.
    let is_ahead = |one: &Version| cluster.is_older_than(one) && image.is_older_than(one);
    if manifests.iter().any(is_ahead) {
        return Verb::CutShort;
    }
    if image.is_older_than(cluster) {
        return Verb::Nothing;
    }
    if manifests
        .iter()
        .chain([cluster])
        .any(|from| is_too_far(from, image))
    {
        return Verb::StepTooLarge;
    }
    match (cluster.is_older_than(image), owner) {
        (true, Owner::KubeadmControlPlane) => Verb::ManagedElsewhere,
        (true, Owner::Nobody) => Verb::Apply,
        (false, _) => {
            let is_old = manifests.iter().any(|one| one.is_older_than(image));
            if is_old || differs {
                Verb::Node
            } else {
                Verb::Nothing
            }
        }
    }
}

fn is_too_far(from: &Version, to: &Version) -> bool {
    from.is_older_than(to) && (from.major() != to.major() || to.minor() - from.minor() > 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn version(text: &str) -> Version {
        text.parse().unwrap()
    }

    fn of(cluster: &str, manifests: &[&str], image: &str, owner: Owner, differs: bool) -> Verb {
        let manifests: Vec<_> = manifests.iter().map(|text| version(text)).collect();
        verb(
            &version(cluster),
            &manifests,
            &version(image),
            owner,
            differs,
        )
    }

    #[test]
    fn the_table_of_the_verbs() {
        use Owner::{KubeadmControlPlane as Kcp, Nobody};
        let (old, new, next) = ("v1.35.4", "v1.36.3", "v1.37.1");
        let rows = [
            // kubeadm-config, manifests, image, owner, rendered differs, verb
            (old, old, new, Nobody, false, Verb::Apply),
            (old, old, new, Nobody, true, Verb::Apply),
            (old, new, new, Nobody, false, Verb::Apply),
            (old, old, "v1.35.9", Nobody, false, Verb::Apply),
            (old, old, new, Kcp, false, Verb::ManagedElsewhere),
            (old, new, new, Kcp, false, Verb::ManagedElsewhere),
            (new, old, new, Nobody, false, Verb::Node),
            (new, old, new, Kcp, false, Verb::Node),
            (new, new, new, Kcp, true, Verb::Node),
            (new, new, new, Nobody, false, Verb::Nothing),
            (new, new, new, Kcp, false, Verb::Nothing),
            (new, new, old, Nobody, false, Verb::Nothing),
            (new, new, old, Kcp, true, Verb::Nothing),
            (new, old, old, Nobody, false, Verb::Nothing),
            (old, old, next, Nobody, false, Verb::StepTooLarge),
            (old, old, next, Kcp, false, Verb::StepTooLarge),
            (next, old, next, Kcp, false, Verb::StepTooLarge),
            (old, next, new, Nobody, false, Verb::CutShort),
            (new, next, new, Nobody, false, Verb::CutShort),
            (old, new, old, Nobody, false, Verb::CutShort),
        ];
        for (cluster, manifests, image, owner, differs, verb) in rows {
            let found = of(cluster, &[manifests], image, owner, differs);
            assert_eq!(
                found, verb,
                "{cluster} {manifests} {image} {owner:?} {differs}"
            );
        }
    }

    #[test]
    fn one_old_component_of_three_wants_the_node_upgraded() {
        let manifests = ["v1.36.3", "v1.36.3", "v1.35.4"];
        let found = of("v1.36.3", &manifests, "v1.36.3", Owner::Nobody, false);
        assert_eq!(found, Verb::Node);
    }

    #[test]
    fn a_build_of_a_vendor_is_the_same_version() {
        let found = of(
            "v1.36.3",
            &["v1.36.3"],
            "v1.36.3-eks-1",
            Owner::Nobody,
            false,
        );
        assert_eq!(found, Verb::Nothing);
    }

    #[test]
    fn another_major_version_is_never_one_step() {
        let found = of("v1.36.3", &["v1.36.3"], "v2.0.0", Owner::Nobody, false);
        assert_eq!(found, Verb::StepTooLarge);
    }

    #[test]
    fn no_verb_of_kubeadm_takes_a_manifest_back() {
        let all = ["v1.34.1", "v1.35.4", "v1.36.3", "v1.36.4", "v1.37.1"];
        for cluster in all {
            for manifest in all {
                for image in all {
                    for owner in [Owner::Nobody, Owner::KubeadmControlPlane] {
                        let found = of(cluster, &[manifest], image, owner, true);
                        let runs = matches!(found, Verb::Apply | Verb::Node);
                        // `upgrade node` writes the version of kubeadm-config.
                        assert!(
                            !runs || version(manifest) <= version(image),
                            "{manifest} {image}"
                        );
                        let node = found == Verb::Node;
                        assert!(
                            !node || version(cluster) == version(image),
                            "{cluster} {image}"
                        );
                    }
                }
            }
        }
    }
}

//! What is found about the work of kubeadm.

use std::collections::BTreeSet;

use super::code::{Class, Code};
use super::finding::{Finding, listed};
use crate::control_plane::component::Component;
use crate::control_plane::survey::{Drift, Other, Survey};
use crate::control_plane::text::Name;
use crate::control_plane::verb::Verb;
use crate::version::Version;

/// Settings whose other value can cost the cluster, so that a change of it is refused.
const VITAL: [&str; 4] = [
    "--data-dir",
    "--etcd-servers",
    "--encryption-provider-config",
    "--advertise-address",
];

/// The same, for all settings with one of these begins. A volume or a mount decides on which data
/// a component starts: etcd on another folder is another database.
const VITAL_BEGINS: [&str; 3] = ["--service-account-", "volume ", "mount "];

impl Survey {
    /// What kubeadm has to do for the image, if that can be said.
    #[must_use]
    pub fn verb(&self) -> Option<Verb> {
        let versions = &self.versions;
        let (cluster, image) = (versions.cluster.as_ref()?, versions.image.as_ref()?);
        let manifests: Vec<_> = self.kubernetes().cloned().collect();
        Some(crate::control_plane::verb::verb(
            cluster,
            &manifests,
            image,
            self.owner,
            self.rewritten,
        ))
    }

    fn kubernetes(&self) -> impl Iterator<Item = &Version> {
        let manifests = &self.versions.manifests;
        Component::KUBERNETES
            .iter()
            .filter_map(|one| manifests.get(one))
    }
}

/// Why kubeadm has no step to this image, or not yet.
pub(super) fn verb(survey: &Survey) -> Option<Finding> {
    let versions = &survey.versions;
    let (cluster, image) = (versions.cluster.as_ref()?, versions.image.as_ref()?);
    match survey.verb()? {
        Verb::Apply | Verb::Node => None,
        Verb::Nothing => newer_kubelet(survey, image),
        Verb::ManagedElsewhere => Some(Finding::wait(
            Code::ManagedElsewhere,
            format!(
                "a KubeadmControlPlane owns this control plane, and kubeadm-config is at {cluster}: it has not begun {image}. Change its version; do not run kubeadm here."
            ),
        )),
        Verb::StepTooLarge => {
            let from = survey
                .kubernetes()
                .chain([cluster])
                .min()
                .unwrap_or(cluster);
            Some(Finding::refuse(
                Code::StepTooLarge,
                format!(
                    "the control plane is at {from} and the image has {image}: kubeadm goes one minor at a time. Use an image of the next minor first."
                ),
            ))
        }
        Verb::CutShort => {
            let at = survey.kubernetes().max().unwrap_or(cluster);
            Some(Finding::refuse(
                Code::MembersDiffer,
                format!(
                    "the manifests of this node are at {at} and kubeadm-config is at {cluster}: an upgrade was cut. Run `kubeadm upgrade apply {at}` again, with the kubeadm of that version."
                ),
            ))
        }
    }
}

fn newer_kubelet(survey: &Survey, image: &Version) -> Option<Finding> {
    let server = survey.versions.manifests.get(&Component::ApiServer)?;
    server.is_older_than(image).then(|| {
        let says = format!(
            "the image has the kubelet {image} and this node's API server is {server}: a kubelet must not be newer. Finish the upgrade of the control plane first."
        );
        Finding::refuse(Code::NewerThanApiServer, says)
    })
}

/// What kubeadm would take out of the manifests, and what it would change.
pub(super) fn drift(survey: &Survey) -> Vec<Finding> {
    let Some(all) = survey.drift.as_deref() else {
        return uncompared(survey).into_iter().collect();
    };
    let (changed, dropped): (Vec<_>, Vec<_>) = all
        .iter()
        .partition(|drift| drift.changed && !drift.is_vital());
    let mut findings = Vec::new();
    if !dropped.is_empty() {
        let says = format!(
            "kubeadm would drop or overwrite settings of the manifests: {}. Put them into kubeadm-config or a folder of patches, so that kubeadm writes them.",
            told(&dropped)
        );
        findings.push(Finding::refuse(Code::ManifestDrift, says));
    }
    if !changed.is_empty() {
        let says = format!(
            "kubeadm would write settings of the manifests with another value: {}. Compare them before you begin.",
            told(&changed)
        );
        findings.push(Finding::warn(Code::ManifestDrift, says));
    }
    findings
}

/// A raise writes the manifests again, and nobody knows what that would drop. Before the image is
/// on the node, its kubeadm cannot say it yet.
fn uncompared(survey: &Survey) -> Option<Finding> {
    let writes = match survey.verb()? {
        Verb::Apply | Verb::Node => true,
        Verb::Nothing | Verb::ManagedElsewhere | Verb::StepTooLarge | Verb::CutShort => false,
    };
    let says = "the manifests could not be compared with what kubeadm would write: it may drop \
        settings that were made by hand. Make the image's kubeadm run here.";
    (writes && survey.image_kubeadm).then(|| Finding::refuse(Code::ManifestDrift, says.to_owned()))
}

impl Drift {
    /// Whether another value can cost the cluster.
    #[must_use]
    pub fn is_vital(&self) -> bool {
        let setting = self.setting.as_str();
        let mut begins = VITAL_BEGINS.iter();
        VITAL.contains(&setting) || begins.any(|begin| setting.starts_with(begin))
    }
}

fn told(drift: &[&Drift]) -> String {
    listed(
        drift
            .iter()
            .map(|one| format!("{} {}", one.component, one.setting)),
    )
}

/// Images that the container runtime does not have.
pub(super) fn images(survey: &Survey) -> Option<Finding> {
    let missing = survey.missing_images.as_ref()?;
    (!missing.is_empty()).then(|| {
        let says = format!(
            "the container runtime does not have images: {}. Pull or import them first.",
            listed(missing)
        );
        Finding::refuse(Code::ImagesMissing, says)
    })
}

/// What the other control-plane nodes run.
pub(super) fn others(survey: &Survey) -> Vec<Finding> {
    let mut findings: Vec<_> = survey.others.iter().filter_map(not_ready).collect();
    findings.extend(nodes(survey));
    let nodes: BTreeSet<&Name> = survey.others.iter().map(|other| &other.node).collect();
    findings.extend(nodes.iter().filter_map(|node| under_way(survey, node)));
    findings.extend(
        survey
            .others
            .iter()
            .filter_map(|other| too_far(survey, other)),
    );
    findings
}

/// kubeadm waits for the pods of the whole cluster, and fails where one does not run.
fn not_ready(other: &Other) -> Option<Finding> {
    (!other.ready).then(|| {
        let says = format!(
            "{} on {} is not Ready: kubeadm waits for the pods of all members. Look at that node first.",
            other.component, other.node
        );
        Finding::wait(Code::MemberNotReady, says)
    })
}

/// `kubeadm upgrade apply` wants each control-plane Node to be Ready.
fn nodes(survey: &Survey) -> Option<Finding> {
    let names = &survey.nodes_not_ready;
    (!names.is_empty()).then(|| {
        let says = format!(
            "control-plane nodes are not Ready: {}. Look at them first.",
            listed(names)
        );
        Finding::wait(Code::MemberNotReady, says)
    })
}

/// kubeadm changes the pods of a node one after the other.
fn under_way(survey: &Survey, node: &Name) -> Option<Finding> {
    let versions = survey.others.iter().filter(|other| other.node == *node);
    let versions = versions.filter(|other| Component::KUBERNETES.contains(&other.component));
    let versions: BTreeSet<&Version> = versions.map(|other| &other.version).collect();
    (versions.len() > 1).then(|| {
        let says = format!(
            "the static pods of {node} are at {}: its upgrade is under way, or was cut. Wait for its end, or end it there.",
            listed(versions)
        );
        Finding::wait(Code::MembersDiffer, says)
    })
}

/// API servers of one cluster are at most one minor apart.
fn too_far(survey: &Survey, other: &Other) -> Option<Finding> {
    let to = match survey.verb()? {
        Verb::Apply | Verb::Node => survey.versions.image.as_ref()?,
        Verb::Nothing | Verb::ManagedElsewhere | Verb::StepTooLarge | Verb::CutShort => {
            return None;
        }
    };
    let server = other.component == Component::ApiServer;
    let apart =
        to.major() != other.version.major() || to.minor().abs_diff(other.version.minor()) > 1;
    (server && apart).then(|| {
        let says = format!(
            "the API server of {} is at {} and this one would go to {to}: they may be one minor apart. Upgrade that node first.",
            other.node, other.version
        );
        Finding::new(Code::MembersDiffer, Class::Wait, says)
    })
}

//! What a look at a control plane has found.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::component::Component;
use super::etcd::{EtcdId, EtcdTag, EtcdVersion};
use super::expiry::Certificate;
use super::member::Member;
use super::room::Place;
use super::text::{Detail, Name};
use crate::version::Version;

/// Everything that one look from one node has found. Each text is clean and short, and what could
/// not be read is in `unseen`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Survey {
    /// When it was made, in seconds since 1970.
    pub at: u64,
    /// This node.
    pub node: Name,
    /// Where etcd is.
    pub kind: Kind,
    /// The member of this node. Absent if it did not answer, or if no endpoint of an external etcd
    /// is on this node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub me: Option<EtcdId>,
    /// The members of etcd. All of them, since the quorum is counted from them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub members: Vec<Member>,
    /// The alarms that are raised.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub alarms: Vec<Alarm>,
    /// The size of this member's database on the disk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub db_bytes: Option<u64>,
    /// The size that raises an alarm.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota_bytes: Option<u64>,
    /// The versions.
    #[serde(default)]
    pub versions: Versions,
    /// Settings of the manifests that kubeadm would not write. `None` if nobody compared them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drift: Option<Vec<Drift>>,
    /// The kubeadm of the image was here to compare with, so that a drift is known by now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub image_kubeadm: bool,
    /// kubeadm would write a manifest in another way, also without any drift: kubeadm-config has
    /// changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub rewritten: bool,
    /// The certificates of this node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificates: Vec<Certificate>,
    /// Authorities whose key is not here, so that kubeadm cannot renew what they signed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub external_authorities: Vec<Name>,
    /// Images that the container runtime does not have. `None` if nobody asked it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub missing_images: Option<Vec<Name>>,
    /// The file systems that an upgrade writes to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub room: Vec<Place>,
    /// Files in the folder of manifests that kubeadm does not know. The kubelet runs them too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub other_manifests: Vec<Name>,
    /// Static pods of the other control-plane nodes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Other>,
    /// Static pods of this node that do not exist or are not Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub own_not_ready: Vec<Component>,
    /// Other control-plane Nodes that are not Ready.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes_not_ready: Vec<Name>,
    /// No other Node of the cluster takes pods: there is none, or each is cordoned or not Ready.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub alone: bool,
    /// Who holds the lock of the control plane.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lock: Option<Lock>,
    /// Who owns the control plane.
    #[serde(default)]
    pub owner: Owner,
    /// What could not be read.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen: Vec<Unseen>,
}

/// Where etcd is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Kind {
    /// On the control-plane nodes, as static pods.
    Stacked,
    /// Elsewhere, and not of kubeadm's.
    External,
}

/// An alarm of etcd.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Alarm {
    /// The member that raised it.
    pub member: EtcdId,
    /// Which one.
    pub kind: AlarmKind,
}

/// The alarms that etcd has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AlarmKind {
    /// The database has reached its quota: no writes.
    NoSpace,
    /// Members hold different data.
    Corrupt,
    /// One that this version does not know.
    Other(Name),
}

/// The versions of one node and its cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Versions {
    /// Of kubeadm-config: the cluster's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster: Option<Version>,
    /// Of this node's manifests.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub manifests: BTreeMap<Component, Version>,
    /// Of the image that is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub image: Option<Version>,
    /// The image of etcd in this node's manifest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd: Option<EtcdTag>,
    /// The image of etcd that kubeadm would write.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub etcd_wanted: Option<EtcdTag>,
}

/// A setting of a manifest that kubeadm would not write so.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    /// Whose manifest.
    pub component: Component,
    /// The flag, or another setting, by its name alone. Its value may be a secret.
    pub setting: Name,
    /// kubeadm would write it with another value. Otherwise it would drop it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub changed: bool,
}

/// A static pod of another node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Other {
    /// The node.
    pub node: Name,
    /// The component.
    pub component: Component,
    /// Its version.
    pub version: Version,
    /// It is Ready.
    pub ready: bool,
}

/// The lock of a control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lock {
    /// Who holds it: a node and its upgrade.
    pub holder: Name,
    /// Since when, in seconds since 1970, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Who owns the control plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Owner {
    /// No controller: an operator upgrades it.
    #[default]
    Nobody,
    /// Cluster API's KubeadmControlPlane.
    KubeadmControlPlane,
}

impl Owner {
    /// The owner by the annotation `cluster.x-k8s.io/owner-kind` of a Node.
    #[must_use]
    pub fn of(kind: Option<&str>) -> Self {
        match kind {
            Some("KubeadmControlPlane") => Self::KubeadmControlPlane,
            Some(_) | None => Self::Nobody,
        }
    }
}

/// Something that could not be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unseen {
    /// What.
    pub source: Source,
    /// Why.
    pub why: Detail,
}

/// What a survey reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Source {
    /// The credential of the administrator.
    Credential,
    /// The API server.
    Api,
    /// The address in admin.conf, while the API server of this node answers at its own.
    Endpoint,
    /// etcd.
    Etcd,
    /// A manifest of a static pod.
    Manifest,
    /// A certificate.
    Certificate,
    /// The room on a file system.
    Room,
    /// What kubeadm would write.
    Kubeadm,
    /// The container runtime.
    Runtime,
    /// An archive of container images that the new system carries.
    Archive,
}

/// More members than etcd is made for.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "etcd lists {found} members, and at most {} can be judged",
    Survey::MEMBERS
)]
pub struct TooMany {
    /// How many.
    pub found: usize,
}

impl Survey {
    /// The most members of an etcd cluster. etcd itself advises seven; one more may be joining and
    /// one leaving.
    pub const MEMBERS: usize = 9;

    /// A survey of this node that has seen nothing yet.
    #[must_use]
    pub fn of(node: Name, kind: Kind, at: u64) -> Self {
        Self {
            at,
            node,
            kind,
            me: None,
            members: Vec::new(),
            alarms: Vec::new(),
            db_bytes: None,
            quota_bytes: None,
            versions: Versions::default(),
            drift: None,
            image_kubeadm: false,
            rewritten: false,
            certificates: Vec::new(),
            external_authorities: Vec::new(),
            missing_images: None,
            room: Vec::new(),
            other_manifests: Vec::new(),
            others: Vec::new(),
            own_not_ready: Vec::new(),
            nodes_not_ready: Vec::new(),
            alone: false,
            lock: None,
            owner: Owner::Nobody,
            unseen: Vec::new(),
        }
    }

    /// Takes the members in. All or none: a part of them has no quorum.
    ///
    /// # Errors
    /// There are too many.
    pub fn take_members(&mut self, members: Vec<Member>) -> Result<(), TooMany> {
        let found = members.len();
        if found > Self::MEMBERS {
            return Err(TooMany { found });
        }
        self.members = members;
        Ok(())
    }

    /// Notes what could not be read.
    pub fn miss(&mut self, source: Source, why: impl Into<Detail>) {
        let why = why.into();
        self.unseen.push(Unseen { source, why });
    }

    /// How many members of etcd have a vote.
    #[must_use]
    pub fn voters(&self) -> usize {
        self.members.iter().filter(|one| !one.learner).count()
    }

    /// Whether kubeadm-config says that etcd is external. Without it, a manifest that a power cut
    /// took looks the same.
    #[must_use]
    pub fn has_external_etcd(&self) -> bool {
        self.kind == Kind::External && self.versions.cluster.is_some()
    }

    /// Whether no other node of the cluster has an API server.
    #[must_use]
    pub fn is_only_server(&self) -> bool {
        let mut others = self.others.iter();
        let has_other = others.any(|other| other.component == Component::ApiServer);
        self.versions.cluster.is_some() && !has_other
    }

    /// The versions of the members that answered.
    #[must_use]
    pub fn etcd_versions(&self) -> Vec<EtcdVersion> {
        self.members.iter().filter_map(|one| one.version).collect()
    }

    /// The name of the member with this id, for a sentence.
    #[must_use]
    pub fn called(&self, id: EtcdId) -> String {
        let member = self.members.iter().find(|member| member.id == id);
        member.map_or_else(|| id.to_string(), Member::called)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_that_a_newer_version_wrote_are_passed_over() {
        let text =
            r#"{"at":1,"node":"cp-1","kind":"stacked","moon":"full","versions":{"crio":"1"}}"#;
        let survey: Survey = serde_json::from_str(text).unwrap();
        assert_eq!(survey, Survey::of("cp-1".into(), Kind::Stacked, 1));
    }

    #[test]
    fn an_empty_survey_is_short() {
        let survey = Survey::of("cp-1".into(), Kind::External, 1);
        let text = serde_json::to_string(&survey).unwrap();
        assert_eq!(
            text,
            r#"{"at":1,"node":"cp-1","kind":"external","versions":{},"owner":"nobody"}"#
        );
    }

    #[test]
    fn a_part_of_too_many_members_is_not_taken() {
        let mut survey = Survey::of("cp-1".into(), Kind::Stacked, 1);
        let member = |id| Member {
            id: EtcdId(id),
            name: "cp".into(),
            version: None,
            started: true,
            learner: false,
            leader: false,
            lag: None,
            sick: None,
        };
        let members: Vec<_> = (0..10).map(member).collect();
        assert_eq!(
            survey.take_members(members.clone()),
            Err(TooMany { found: 10 })
        );
        assert!(survey.members.is_empty());
        assert_eq!(survey.take_members(members[..9].to_vec()), Ok(()));
    }

    #[test]
    fn only_one_kind_of_owner_is_known() {
        assert_eq!(
            Owner::of(Some("KubeadmControlPlane")),
            Owner::KubeadmControlPlane
        );
        for kind in [None, Some("MachineSet"), Some("")] {
            assert_eq!(Owner::of(kind), Owner::Nobody, "{kind:?}");
        }
    }
}

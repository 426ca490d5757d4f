//! The codes of findings and their classes.

use serde::{Serialize, Serializer};

/// What a finding means for an upgrade.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// An upgrade is refused until somebody changes that.
    Refuse,
    /// An upgrade waits: this can end by itself.
    Wait,
    /// An upgrade works, and somebody should know.
    Warn,
}

macro_rules! codes {
    ($($(#[$meaning:meta])* $code:ident,)*) => {
        /// What is found, by the name of its section in docs/control-planes.md.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Code { $($(#[$meaning])* $code,)* }

        impl Code {
            /// All codes, in the order of the docs.
            pub const ALL: &'static [Self] = &[$(Self::$code,)*];

            /// Its name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$code => stringify!($code),)* }
            }
        }
    };
}

codes! {
    /// admin.conf, or etcd's client certificate, cannot be used.
    NoAdminCredential,
    /// The API server does not answer.
    ApiAway,
    /// Another upgrade holds the lock.
    ControlPlaneBusy,
    /// KubeadmControlPlane has not begun this version.
    ManagedElsewhere,
    /// More than one minor at once, of Kubernetes or of etcd.
    StepTooLarge,
    /// The kubelet would be newer than its own API server.
    NewerThanApiServer,
    /// Versions of members or of this node's own pods do not belong together.
    MembersDiffer,
    /// A static pod of another node is not Ready.
    MemberNotReady,
    /// Too few other members are healthy.
    QuorumAtRisk,
    /// A member is not healthy, or etcd does not answer.
    EtcdUnhealthy,
    /// etcd has raised an alarm.
    EtcdAlarm,
    /// A member is too old for etcd's next minor.
    EtcdTooOld,
    /// etcd's next minor cannot be undone.
    EtcdMinor,
    /// The cluster is away with this node.
    SingleMember,
    /// Nothing on this node saves etcd.
    ExternalEtcd,
    /// No other Node takes pods.
    NoOtherNode,
    /// Settings that kubeadm would drop or change.
    ManifestDrift,
    /// The container runtime does not have an image.
    ImagesMissing,
    /// A certificate is not valid now.
    CertificatesExpired,
    /// A certificate ends soon.
    CertificatesExpireSoon,
    /// A renewal is due, and the authority's key is elsewhere.
    ExternalCa,
    /// Too little room for copies and snapshot.
    NoRoom,
    /// Files in the folder of manifests that kubeadm does not know.
    OtherManifests,
    /// Something else could not be read.
    NotSeen,
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

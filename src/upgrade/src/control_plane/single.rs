//! What the policy forbids by a finding that is only a warning: a cluster of one, and an external
//! etcd.

use super::findings::{Code, Finding};
use crate::policy::{ControlPlane, ExternalEtcd, SingleNode};
use crate::reason::Reason;

const SINGLE: &str = "the policy says control-plane.single-node = \"refuse\", and this is the only \
    member. Allow it there, or choose another way";

const EXTERNAL: &str = "the policy says control-plane.external-etcd = \"refuse\", and etcd is \
    external. Allow it there, or choose another way";

/// Why the policy refuses to upgrade this control plane.
#[must_use]
pub fn forbidden(found: &[Finding], policy: &ControlPlane) -> Option<Reason> {
    let single = match policy.single_node {
        SingleNode::Allow => None,
        SingleNode::Refuse => Some((Code::SingleMember, SINGLE)),
    };
    let external = match policy.external_etcd {
        ExternalEtcd::Allow => None,
        ExternalEtcd::Refuse => Some((Code::ExternalEtcd, EXTERNAL)),
    };
    let mut rules = single.into_iter().chain(external);
    let is_found = |code| found.iter().any(|one| one.code == code);
    let (code, detail) = rules.find(|(code, _)| is_found(*code))?;
    Some(Reason::ControlPlaneUnfit {
        finding: code.name().to_owned(),
        detail: detail.to_owned(),
    })
}

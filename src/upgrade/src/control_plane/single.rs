//! A cluster of one is away with its node, which the policy may forbid.

use super::findings::{Code, Finding};
use crate::policy::SingleNode;
use crate::reason::Reason;

const DETAIL: &str = "the policy says control-plane.single-node = \"refuse\", and this is the only \
    member. Allow it there, or choose another way";

/// Why the policy refuses to upgrade the only member.
#[must_use]
pub fn forbidden(found: &[Finding], policy: SingleNode) -> Option<Reason> {
    let alone = found.iter().find(|one| one.code == Code::SingleMember)?;
    match policy {
        SingleNode::Allow => None,
        SingleNode::Refuse => Some(Reason::ControlPlaneUnfit {
            finding: alone.code.name().to_owned(),
            detail: DETAIL.to_owned(),
        }),
    }
}

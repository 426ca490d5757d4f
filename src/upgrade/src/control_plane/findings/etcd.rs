//! What is found about etcd.

use super::code::{Class, Code};
use super::finding::{Finding, listed};
use crate::control_plane::etcd::EtcdId;
use crate::control_plane::etcd_step::{Step, TooOld, etcd_step, undo};
use crate::control_plane::member::Member;
use crate::control_plane::quorum::{self, Hold, Leave};
use crate::control_plane::survey::{Alarm, AlarmKind, Kind, Survey};

/// Whether this member may be away. The reboot of a node without a member takes none away.
pub(super) fn quorum(survey: &Survey) -> Option<Finding> {
    let own = || leave(&survey.members, survey.me?);
    match survey.kind {
        // Without an answer of etcd nothing is counted, which is a finding of its own.
        Kind::Stacked => own(),
        Kind::External => minority(&survey.members)
            .or_else(own)
            .or_else(|| survey.is_only_server().then(only_server)),
    }
}

fn leave(members: &[Member], me: EtcdId) -> Option<Finding> {
    match quorum::quorum(members, me).may {
        Ok(Leave::Alone) => Some(alone("this is the only member")),
        Ok(Leave::Spare(_)) => None,
        Err(hold) => Some(Finding::wait(Code::QuorumAtRisk, held(&hold))),
    }
}

fn only_server() -> Finding {
    alone("this node has the only API server")
}

fn alone(what: &str) -> Finding {
    let says = format!(
        "{what}: the API server is away while the node reboots. Choose a time at which nobody needs it."
    );
    Finding::warn(Code::SingleMember, says)
}

/// Nothing on this node has the data of an external etcd.
pub(super) fn elsewhere(survey: &Survey) -> Option<Finding> {
    let says = "etcd is external: an upgrade saves no snapshot of it and moves no leader. \
        Save it where it runs before you begin.";
    survey
        .has_external_etcd()
        .then(|| Finding::warn(Code::ExternalEtcd, says.to_owned()))
}

fn held(hold: &Hold) -> String {
    let (why, action) = match hold {
        Hold::Absent => (
            "etcd's list of members does not have this node's member".to_owned(),
            "Compare `etcdctl member list` with the member's own id",
        ),
        Hold::TwoMembers => (
            "etcd has two members, and neither may be away".to_owned(),
            "Add or remove a control-plane node",
        ),
        Hold::Learner(name) => (
            format!("{name} is still a learner"),
            "Wait until it has joined",
        ),
        Hold::NotStarted(name) => (
            format!("{name} was added and has never started"),
            "Start it, or remove it if it never will",
        ),
        Hold::TooFew { needed, sick } => (
            format!(
                "without this member {needed} healthy ones are needed, but {} not healthy",
                are(sick)
            ),
            "Wait until they are healthy, and remove no member",
        ),
    };
    format!("etcd would lose its quorum: {why}. {action}.")
}

fn are(names: &[String]) -> String {
    let verb = if names.len() == 1 { "is" } else { "are" };
    format!("{} {verb}", listed(names))
}

/// The members of an external etcd are not a healthy majority.
fn minority(members: &[Member]) -> Option<Finding> {
    let voters: Vec<_> = members.iter().filter(|one| !one.learner).collect();
    let sick: Vec<_> = voters.iter().filter(|one| !one.is_healthy()).collect();
    let healthy = voters.len() - sick.len();
    (healthy * 2 <= voters.len() && !members.is_empty()).then(|| {
        let names = listed(sick.iter().map(|one| one.called()));
        let says = format!(
            "the external etcd does not have a healthy majority: {names}. Look at etcd first."
        );
        Finding::wait(Code::QuorumAtRisk, says)
    })
}

/// Each member that is not healthy, and what it answered.
pub(super) fn sick(survey: &Survey) -> Vec<Finding> {
    let harmless = match (survey.kind, survey.me) {
        (Kind::Stacked | Kind::External, Some(me)) => {
            quorum::quorum(&survey.members, me).may.is_ok()
        }
        (Kind::Stacked, None) => false,
        (Kind::External, None) => minority(&survey.members).is_none(),
    };
    let sick = survey.members.iter();
    let sick = sick.filter_map(|member| Some((member, member.sick.as_ref()?)));
    let finding = |(member, why): (&Member, _)| {
        let warns = harmless && survey.me != Some(member.id);
        let says = format!(
            "etcd's member {} is not healthy: {why}. Do not remove it and do not delete its data; look at its node and its log first.",
            member.called()
        );
        let class = if warns { Class::Warn } else { Class::Wait };
        Finding::new(Code::EtcdUnhealthy, class, says)
    };
    sick.map(finding).collect()
}

/// The alarms. Nothing may be upgraded over one.
pub(super) fn alarms(survey: &Survey) -> Vec<Finding> {
    let finding = |alarm: &Alarm| {
        let name = survey.called(alarm.member);
        let (what, action) = match &alarm.kind {
            AlarmKind::NoSpace => (
                "NOSPACE: the database has reached its quota, and etcd refuses writes".to_owned(),
                "Compact and defragment etcd, then disarm the alarm",
            ),
            AlarmKind::Corrupt => (
                "CORRUPT: its data differs from that of the others".to_owned(),
                "Find out which member is right, before anything restarts",
            ),
            AlarmKind::Other(kind) => (kind.to_string(), "Look it up in the documentation of etcd"),
        };
        let says = format!("etcd has an alarm of {name}: {what}. {action}.");
        Finding::refuse(Code::EtcdAlarm, says)
    };
    survey.alarms.iter().map(finding).collect()
}

/// What the upgrade does to etcd.
pub(super) fn step(survey: &Survey) -> Option<Finding> {
    let versions = &survey.versions;
    let (live, wanted) = (versions.etcd.as_ref()?, versions.etcd_wanted.as_ref()?);
    let (members, voters) = (survey.etcd_versions(), survey.voters());
    match etcd_step(live, wanted, &members) {
        Ok(Step::Nothing | Step::Patch) => None,
        Ok(step @ Step::Minor) => {
            let says = format!(
                "etcd goes from {live} to {wanted}: {} Read the part about etcd's minor before you begin.",
                undo(step, voters)
            );
            Some(Finding::warn(Code::EtcdMinor, says))
        }
        Ok(Step::TooLarge) => {
            let says = format!(
                "etcd would go from {live} to {wanted}: it takes one minor at a time. Use an image between them first."
            );
            Some(Finding::refuse(Code::StepTooLarge, says))
        }
        Err(old) => Some(too_old(old, &wanted.to_string())),
    }
}

fn too_old(TooOld { found, floor }: TooOld, wanted: &str) -> Finding {
    let says = format!(
        "a member of etcd runs {found}: the step to {wanted} is safe from {floor} on. Bring each member to {floor} or a later patch first."
    );
    Finding::refuse(Code::EtcdTooOld, says)
}

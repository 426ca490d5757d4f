//! What the answers of careen-control mean for the record.

use super::super::change::Change;
use super::super::situation::Situation;
use super::pace::with_raise;
use super::patience;
use crate::control_plane::{
    Class, Code, Done, Finding, Hold, Leave, Saved, Survey, Task, Verb, findings, forbidden, quorum,
};
use crate::reason::complaint;
use crate::record::{Control, Hurt, Lock, Look, Raise, Snapshot, Upgrade};

/// The changes that follow from an answer.
pub(in super::super) fn done(up: &Upgrade, done: &Done, s: &Situation<'_>) -> Vec<Change> {
    let Some(control) = &up.control else {
        return Vec::new();
    };
    let seen = s.moment();
    match done {
        Done::Surveyed(survey) => surveyed(up, control, survey, s),
        Done::Locked => vec![locked(control, Lock::Held { seen }, s)],
        Done::Busy { holder } => {
            let holder = holder.to_string();
            vec![locked(control, Lock::Busy { seen, holder }, s)]
        }
        Done::SavedEtcd(saved) => vec![saved_etcd(control, saved.as_ref())],
        Done::Raised(version) => {
            let version = version.clone();
            vec![with_raise(control, Raise::Raised { version })]
        }
        Done::GivenUp => vec![with_raise(control, Raise::GivenUp)],
        Done::Yielded => vec![yielded(control, s)],
        Done::Unlocked => vec![Change::Control(control.let_go())],
    }
}

/// A task that failed without a consequence for the upgrade: whether another member leads etcd
/// decides nothing, since the quorum is counted after it.
pub(in super::super) fn go_on_without(up: &Upgrade, task: Task, s: &Situation<'_>) -> Vec<Change> {
    let control = up.control.as_ref().filter(|_| task == Task::Yield);
    let yielded = control.map(|control| yielded(control, s));
    yielded.into_iter().chain([Change::Retry(None)]).collect()
}

fn locked(control: &Control, lock: Lock, s: &Situation<'_>) -> Change {
    let control = Control {
        lock,
        ..control.clone()
    };
    Change::Control(patience::counted(control, s))
}

fn yielded(control: &Control, s: &Situation<'_>) -> Change {
    Change::Control(Control {
        yielded: Some(s.moment()),
        ..control.clone()
    })
}

fn saved_etcd(control: &Control, saved: Option<&Saved>) -> Change {
    let kept = |saved: &Saved| Snapshot::Kept {
        file: saved.file.to_string(),
    };
    Change::Control(Control {
        snapshot: saved.map_or(Snapshot::NotHere, kept),
        ..control.clone()
    })
}

fn surveyed(up: &Upgrade, control: &Control, survey: &Survey, s: &Situation<'_>) -> Vec<Change> {
    let found = findings(survey);
    let first = |class| {
        found
            .iter()
            .find(|one| one.class == class && counts(control, one))
    };
    let look = Look {
        seen: s.moment(),
        waits: first(Class::Wait).and_then(Finding::reason),
        hurt: hurt(control, survey, s),
        raises: raises(survey),
        alone: survey.alone,
        needed: is_needed(survey),
    };
    let refused = first(Class::Refuse).and_then(Finding::reason);
    let refused = refused.or_else(|| forbidden(&found, &s.policy.control_plane));
    let refused = refused.filter(|_| up.phase.can_be_withdrawn());
    let control = Control {
        look: Some(look),
        ..control.clone()
    };
    let look = Change::Control(patience::counted(control, s));
    [look]
        .into_iter()
        .chain(refused.map(Change::GiveUp))
        .collect()
}

/// Once kubeadm has run, what it would meet is no question any more. What is wrong with etcd still
/// is.
fn counts(control: &Control, finding: &Finding) -> bool {
    control.raise.is_due() || finding.class != Class::Refuse || finding.code == Code::EtcdAlarm
}

/// Whether etcd has no majority without this node's member.
fn is_needed(survey: &Survey) -> bool {
    let may = |me| match quorum(&survey.members, me).may {
        Err(Hold::TooFew { .. }) => true,
        Ok(Leave::Alone | Leave::Spare(_)) => false,
        Err(Hold::Absent | Hold::TwoMembers | Hold::Learner(_) | Hold::NotStarted(_)) => false,
    };
    survey.me.is_some_and(may)
}

fn raises(survey: &Survey) -> bool {
    survey.verb().is_some_and(|verb| match verb {
        Verb::Apply | Verb::Node => true,
        Verb::Nothing | Verb::ManagedElsewhere | Verb::StepTooLarge | Verb::CutShort => false,
    })
}

fn hurt(control: &Control, survey: &Survey, s: &Situation<'_>) -> Option<Hurt> {
    let detail = complaint(&survey.hurt()?);
    let before = control.look.as_ref().and_then(|look| look.hurt.as_ref());
    let since = before.filter(|hurt| hurt.since.boot == s.seen.turn.boot);
    let since = since.map_or_else(|| s.moment(), |hurt| hurt.since.clone());
    Some(Hurt { detail, since })
}

//! The policy file and the record.

use host::trust::{self, Fault};
use upgrade::decide::RecordRead;
use upgrade::policy::LocalChanges;
use upgrade::reason::complaint;
use upgrade::{Deployment, Phase, Policy, Reason, names};

use super::finding::Finding;
use super::patient::Patient;
use crate::node::saved;
use crate::trusted_files;

/// Whether the policy file parses, and only root may write it and the other files that decide which
/// images are accepted. One finding for each file that others may write.
pub(super) fn policy(patient: &Patient, read: &Result<Policy, Reason>) -> Vec<Finding> {
    const NAME: &str = "policy";
    let own = trust::fault(&patient.policy).into_iter();
    let others = trusted_files::amiss(&patient.places).map(|one| one.fault);
    let bad = |fault: Fault| Finding::bad(NAME, fault.to_string(), &fault.fix());
    let amiss: Vec<_> = own.chain(others).map(bad).collect();
    if !amiss.is_empty() {
        return amiss;
    }
    let path = patient.policy.display();
    vec![match read {
        Err(reason) => Finding::bad(
            NAME,
            wrong(reason),
            "fix that line; /usr/share/doc/careen/policy.md lists the accepted values",
        ),
        Ok(_) if patient.policy.exists() => Finding::ok(NAME, format!("{path} is valid")),
        Ok(_) => Finding::ok(NAME, format!("{path} is absent: the defaults apply")),
    }]
}

/// What is wrong, without the advice of a refused request: nobody has asked for an upgrade yet.
fn wrong(reason: &Reason) -> String {
    let Reason::BadPolicy {
        file,
        line,
        column,
        detail,
    } = reason
    else {
        return reason.to_string();
    };
    let detail = detail.trim_end_matches('.');
    match *line {
        0 => format!("{file}: {detail}"),
        line => format!("{file} line {line}, column {column}: {detail}"),
    }
}

/// `None` on a node that accepts upgrades.
pub(super) fn opt_out(patient: &Patient, policy: &Policy) -> Option<Finding> {
    const NAME: &str = "opt-out";
    let why = Some(&policy.opt_out).filter(|why| !why.is_empty())?;
    Some(Finding::bad(
        NAME,
        format!("this node takes no upgrade: {}", complaint(why)),
        &format!("remove opt-out from {}", patient.policy.display()),
    ))
}

/// `None` if the running deployment is as its image is.
pub(super) fn local_changes(
    patient: &Patient,
    policy: &Policy,
    booted: Option<&Deployment>,
) -> Option<Finding> {
    const NAME: &str = "local-changes";
    let changes = host::boot::local_changes(&patient.places, booted?);
    let found = Some(changes.join("; ")).filter(|found| !found.is_empty())?;
    Some(match policy.local_changes {
        LocalChanges::Refuse => Finding::bad(
            NAME,
            format!("another image does not have them: {found}"),
            "undo them (rpm-ostree reset), put them into the image, or set local-changes = \"drop\" in the policy",
        ),
        LocalChanges::Drop => Finding::warn(
            NAME,
            format!("an upgrade drops them: {found}"),
            "put into the image what the node needs",
        ),
    })
}

/// Whether everything that the previous trial changed in the kubelet's state is restored.
pub(super) fn kubelet_state(patient: &Patient) -> Finding {
    const NAME: &str = "kubelet-state";
    let unit = names::RESTORE_UNIT;
    let fix = format!(
        "read journalctl -b -u {unit}; StateOwed in /usr/share/doc/careen/runbook.md says how to restore or discard it"
    );
    let bad = |seen: String| Finding::bad(NAME, seen, &fix);
    match saved::none_is_owed(&patient.places) {
        Ok(Ok(())) => Finding::ok(NAME, "nothing is left to restore"),
        Ok(Err(reason)) => bad(reason.to_string()),
        Err(error) => bad(error.to_string()),
    }
}

/// Whether the record is readable, and no upgrade waits for a person.
pub(super) fn record(read: &RecordRead) -> Finding {
    const NAME: &str = "record";
    let record = match read {
        Ok(record) => record,
        Err(reason) => {
            return Finding::bad(
                NAME,
                reason.to_string(),
                "fix that; until then the agent takes no request",
            );
        }
    };
    match record.upgrade.as_ref().map(|up| (&up.id, &up.phase)) {
        None => Finding::ok(NAME, "no upgrade yet"),
        Some((id, Phase::Halted { reason })) => Finding::bad(
            NAME,
            format!("upgrade {id} is halted: {reason}"),
            "check the node, uncordon it, and ask again",
        ),
        Some((id, phase)) => Finding::ok(NAME, format!("upgrade {id} is {}", phase.name())),
    }
}

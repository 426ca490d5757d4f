//! The policy file and the record.

use std::fs;
use std::os::unix::fs::MetadataExt;

use upgrade::decide::RecordRead;
use upgrade::reason::complaint;
use upgrade::{Phase, Policy, Reason, names};

use super::{Finding, Patient};
use crate::node::saved;

/// Whoever may write the policy says which images this node takes.
const OWNER: u32 = 0;

/// Bits that let the group or everybody write.
const OTHERS: u32 = 0o022;

/// The policy file parses, and nobody but root may write it.
pub(super) fn policy(patient: &Patient, read: &Result<Policy, Reason>) -> Finding {
    const NAME: &str = "policy";
    let path = patient.policy.display();
    if let Err(reason) = read {
        return Finding::bad(
            NAME,
            reason.to_string(),
            "mend that line; docs/policy.md lists what is accepted",
        );
    }
    match fs::metadata(&patient.policy) {
        Err(_) => Finding::ok(NAME, format!("{path} is absent: the defaults hold")),
        Ok(meta) => judge_writers(&path.to_string(), meta.uid(), meta.mode()),
    }
}

/// An owner may give himself what the mode denies him.
fn judge_writers(path: &str, owner: u32, mode: u32) -> Finding {
    const NAME: &str = "policy";
    let alien = (owner != OWNER).then(|| {
        let seen = format!("belongs to uid {owner}, not to root");
        (seen, "chown root")
    });
    let open = (mode & OTHERS != 0).then(|| {
        let seen = format!("may be written by others (mode {:o})", mode & 0o777);
        (seen, "chmod go-w")
    });
    let (seen, mend): (Vec<_>, Vec<_>) = alien.into_iter().chain(open).unzip();
    if seen.is_empty() {
        return Finding::ok(NAME, format!("{path} holds"));
    }
    Finding::bad(
        NAME,
        format!("{path} {}", seen.join(", and ")),
        &format!(
            "{} it: it says which images this node takes",
            mend.join(" and ")
        ),
    )
}

/// Nothing on a node that takes upgrades.
pub(super) fn opt_out(patient: &Patient, policy: &Policy) -> Option<Finding> {
    const NAME: &str = "opt-out";
    let why = Some(&policy.opt_out).filter(|why| !why.is_empty())?;
    Some(Finding::bad(
        NAME,
        format!("this node takes no upgrade: {}", complaint(why)),
        &format!("take opt-out out of {}", patient.policy.display()),
    ))
}

/// The kubelet has got back all that the trial before has changed.
pub(super) fn kubelet_state(patient: &Patient) -> Finding {
    const NAME: &str = "kubelet-state";
    let unit = names::RESTORE_UNIT;
    let mend = format!(
        "journalctl -b -u {unit}; docs/runbook.md#stateowed says how it is put back, or given up"
    );
    let bad = |seen: String| Finding::bad(NAME, seen, &mend);
    match saved::none_is_owed(&patient.places) {
        Ok(Ok(())) => Finding::ok(NAME, "nothing of it is still to be put back"),
        Ok(Err(reason)) => bad(reason.to_string()),
        Err(error) => bad(error.to_string()),
    }
}

/// The record can be read, and no upgrade waits for a person.
pub(super) fn record(read: &RecordRead) -> Finding {
    const NAME: &str = "record";
    let record = match read {
        Ok(record) => record,
        Err(reason) => {
            return Finding::bad(
                NAME,
                reason.to_string(),
                "until then every request is left alone",
            );
        }
    };
    match record.upgrade.as_ref().map(|up| (&up.id, &up.phase)) {
        None => Finding::ok(NAME, "no upgrade yet"),
        Some((id, Phase::Halted { reason })) => Finding::bad(
            NAME,
            format!("upgrade {id} is halted: {reason}"),
            "look at the node, uncordon it, and ask again",
        ),
        Some((id, phase)) => Finding::ok(NAME, format!("upgrade {id} is {}", phase.name())),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok};
    use super::*;

    #[test]
    fn a_policy_that_root_alone_may_write_holds() {
        for mode in [0o100_644, 0o100_600] {
            assert_eq!(judge_writers("/p", 0, mode).verdict, Ok, "{mode:o}");
        }
    }

    #[test]
    fn a_policy_that_others_own_or_may_write_is_bad_and_says_how_to_mend_it() {
        for (owner, mode, seen, mend) in [
            (0, 0o664, "others (mode 664)", "chmod go-w it"),
            (0, 0o646, "others (mode 646)", "chmod go-w it"),
            (7, 0o644, "uid 7, not to root", "chown root it"),
            (7, 0o666, "root, and may be", "chown root and chmod go-w it"),
        ] {
            let found = judge_writers("/p", owner, mode);
            assert_eq!(found.verdict, Bad);
            assert!(found.seen.contains(seen), "{found:?}");
            assert!(found.mend.starts_with(mend), "{found:?}");
        }
    }
}

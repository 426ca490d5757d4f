//! The policy file and the record.

use std::fs;
use std::os::unix::fs::MetadataExt;

use upgrade::decide::RecordRead;
use upgrade::{Phase, PolicyRead};

use super::{Finding, Patient};

/// The policy file parses, and nobody but its owner may write it.
pub(super) fn policy(patient: &Patient, read: &PolicyRead) -> Finding {
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
        Ok(meta) if meta.mode() & 0o022 != 0 => Finding::bad(
            NAME,
            format!(
                "{path} may be written by others (mode {:o})",
                meta.mode() & 0o777
            ),
            "chmod go-w it: it says which images this node takes",
        ),
        Ok(_) => Finding::ok(NAME, format!("{path} holds")),
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

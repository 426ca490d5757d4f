//! What the verb `save` answers.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::fitness::Refusal;
use crate::control_plane::failure::Failure;
use crate::control_plane::text::{Detail, Text};
use crate::exit;
use crate::id::{Digest, UpgradeId};

/// The answer to `careen-control save`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "answer", rename_all = "camelCase")]
pub enum Saving {
    /// The snapshot is on the disk and verified.
    Saved(Saved),
    /// None was begun.
    Refused(Refusal),
    /// What it needed was not there, or broke off. There is no new snapshot.
    Failed(Failure),
    /// It could not be written. There is no new snapshot.
    NotWritten {
        /// Why.
        why: Detail,
    },
}

/// A snapshot that was made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Saved {
    /// Its path on the node.
    pub file: Text<320>,
    /// The bytes of the database, without the digest after it.
    pub bytes: u64,
    /// The SHA-256 of these bytes, as etcd sent it and as it was computed here.
    pub sha256: Digest,
    /// A revision that the snapshot has at least.
    pub revision: u64,
    /// The upgrades whose older snapshots were removed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<UpgradeId>,
    /// Why kubeadm's configuration is not beside the snapshot; absent if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub no_configuration: Option<Detail>,
}

impl Saving {
    /// The exit code of the program.
    #[must_use]
    pub const fn exit_code(&self) -> u8 {
        match self {
            Self::Saved(_) => exit::DONE,
            Self::Refused(_) => exit::UNFIT,
            Self::Failed(_) | Self::NotWritten { .. } => exit::FAILED,
        }
    }
}

impl fmt::Display for Saving {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Saved(saved) => saved.fmt(f),
            Self::Refused(refusal) => refusal.fmt(f),
            Self::Failed(failure) => failure.fmt(f),
            Self::NotWritten { why } => {
                let why = why.as_str().trim_end_matches('.');
                write!(
                    f,
                    "the snapshot cannot be written: {why}. Look at the file system."
                )
            }
        }
    }
}

impl fmt::Display for Saved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (file, mib) = (&self.file, self.bytes.div_ceil(1 << 20));
        write!(
            f,
            "{file} has {mib} MiB of etcd at revision {} or later; its SHA-256 is verified.",
            self.revision
        )?;
        if !self.removed.is_empty() {
            let ids: Vec<&str> = self.removed.iter().map(UpgradeId::as_str).collect();
            write!(f, "\nOlder snapshots are removed: {}.", ids.join(", "))?;
        }
        if let Some(why) = &self.no_configuration {
            let why = why.as_str().trim_end_matches('.');
            write!(
                f,
                "\nThe file beside it lacks kubeadm's configuration: {why}."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn an_answer_is_read_as_it_was_written() {
        let sha256 = "0".repeat(64);
        let written = json!({ "answer": "saved", "file": "/var/lib/careen/etcd/7.db", "bytes": 5,
            "sha256": sha256, "revision": 9 });
        let saved: Saving = from_value(written.clone()).unwrap();
        assert_eq!((saved.exit_code(), to_value(&saved).unwrap()), (0, written));
        let refused = Saving::Refused(Refusal::Behind { entries: 7 });
        let written = json!({ "answer": "refused", "because": "behind", "entries": 7 });
        assert_eq!(to_value(&refused).unwrap(), written);
        assert_eq!(from_value::<Saving>(written).unwrap().exit_code(), 3);
    }
}

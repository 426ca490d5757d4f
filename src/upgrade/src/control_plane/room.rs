//! The room that an upgrade of a control plane takes on the disk.
//!
//! kubeadm copies etcd's data before each run with an upgrade of etcd and never removes the copy.
//! The copy holds the database and two preallocated files of the log, 64 MB each, also where the
//! database is tiny. A snapshot of etcd is as large as the database.

use serde::{Deserialize, Serialize};

use super::text::Name;

const MIB: u64 = 1 << 20;

/// Two files of the write-ahead log (etcd, server/storage/wal, SegmentSizeBytes).
const LOG: u64 = 128 * MIB;

/// For manifests, certificates, and what the others on this disk need meanwhile.
const REST: u64 = 64 * MIB;

/// What is written to a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Use {
    /// kubeadm's copies.
    Copies,
    /// The snapshot of etcd.
    Snapshot,
    /// Both, on one file system.
    Both,
}

/// A file system that is written to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Place {
    /// A folder on it.
    pub path: Name,
    /// What is written there.
    pub r#use: Use,
    /// The free bytes.
    pub free_bytes: u64,
}

impl Place {
    /// How many bytes are missing for a database of this size; 0 if there is room.
    #[must_use]
    pub const fn missing(&self, db_bytes: u64) -> u64 {
        wanted(self.r#use, db_bytes).saturating_sub(self.free_bytes)
    }
}

/// The bytes that must be free, for a database of this size.
#[must_use]
pub const fn wanted(r#use: Use, db_bytes: u64) -> u64 {
    let copies = db_bytes.saturating_mul(2).saturating_add(LOG + REST);
    match r#use {
        Use::Copies => copies,
        Use::Snapshot => db_bytes.saturating_add(REST),
        Use::Both => copies.saturating_add(db_bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tiny_database_needs_room_for_the_log() {
        assert_eq!(wanted(Use::Copies, 0), 192 * MIB);
        assert_eq!(wanted(Use::Copies, 2 * MIB), 196 * MIB);
        assert_eq!(wanted(Use::Snapshot, 2 * MIB), 66 * MIB);
        assert_eq!(wanted(Use::Both, 2 * MIB), 198 * MIB);
    }

    #[test]
    fn what_is_missing_is_counted_to_the_byte() {
        let place = |free_bytes| Place {
            path: "/etc/kubernetes".into(),
            r#use: Use::Copies,
            free_bytes,
        };
        let wanted = wanted(Use::Copies, 1000);
        assert_eq!(place(wanted).missing(1000), 0);
        assert_eq!(place(wanted - 1).missing(1000), 1);
        assert_eq!(place(u64::MAX).missing(u64::MAX), 0, "no overflow");
        assert!(place(0).missing(u64::MAX) == u64::MAX);
    }
}

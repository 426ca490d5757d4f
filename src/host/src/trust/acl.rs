//! POSIX ACLs as the kernel represents them (acl(5); Linux, include/uapi/linux/posix_acl_xattr.h).

use std::fmt;
use std::io;
use std::path::Path;

use nix::errno::Errno;

/// The ACL of a file or folder itself.
pub const ACCESS: &str = "system.posix_acl_access";
/// The ACL that a folder gives to new entries in it.
pub const DEFAULT: &str = "system.posix_acl_default";

/// The only version, in the first four bytes.
const VERSION: u32 = 2;
/// Kinds of entries.
const USER: u16 = 0x02;
const OWNING_GROUP: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const EVERYBODY: u16 = 0x20;
/// Write permission.
const WRITE: u16 = 0x02;

/// The user or group that may write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// A user, by an ACL.
    User(u32),
    /// A group, by an ACL or by the mode.
    Group(u32),
    /// The group that owns the place, by an ACL.
    OwningGroup,
    /// Everybody.
    Everybody,
}

impl fmt::Display for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::User(user) => write!(f, "user {user} by its ACL"),
            Self::Group(group) => write!(f, "group {group}"),
            Self::OwningGroup => write!(f, "its group by its ACL"),
            Self::Everybody => write!(f, "everybody"),
        }
    }
}

/// One entry: kind, permissions, user or group.
pub(super) struct Entry {
    kind: u16,
    rights: u16,
    whose: u32,
}

/// Whether a place has such an ACL. A file system without ACL support has none.
pub fn is_there(place: &Path, kind: &str) -> io::Result<bool> {
    Ok(read(place, kind)?.is_some())
}

/// The user or group other than root that may write by such an ACL; `None` if there is none.
pub fn writer(place: &Path, kind: &str) -> io::Result<Option<Writer>> {
    let Some(bytes) = read(place, kind)? else {
        return Ok(None);
    };
    let entries =
        entries(&bytes).ok_or_else(|| io::Error::other(format!("{kind} is not supported")))?;
    Ok(writer_by(&entries))
}

fn read(place: &Path, kind: &str) -> io::Result<Option<Vec<u8>>> {
    match xattr::get(place, kind) {
        Err(error) if error.raw_os_error() == Some(Errno::ENOTSUP as i32) => Ok(None),
        read => read,
    }
}

pub(super) fn entries(bytes: &[u8]) -> Option<Vec<Entry>> {
    let (version, rest) = bytes.split_first_chunk::<4>()?;
    let (entries, odd) = rest.as_chunks::<8>();
    let is_known = u32::from_le_bytes(*version) == VERSION && odd.is_empty();
    is_known.then(|| entries.iter().map(entry).collect())
}

fn entry(bytes: &[u8; 8]) -> Entry {
    let [k0, k1, r0, r1, w0, w1, w2, w3] = *bytes;
    Entry {
        kind: u16::from_le_bytes([k0, k1]),
        rights: u16::from_le_bytes([r0, r1]),
        whose: u32::from_le_bytes([w0, w1, w2, w3]),
    }
}

/// The mask limits everybody except the owner and others.
fn writer_by(entries: &[Entry]) -> Option<Writer> {
    let mask = entries.iter().find(|entry| entry.kind == MASK);
    let mask = mask.map_or(WRITE, |entry| entry.rights);
    let may_write = |entry: &&Entry| {
        let mask = if entry.kind == EVERYBODY { WRITE } else { mask };
        entry.rights & mask & WRITE != 0
    };
    entries
        .iter()
        .filter(may_write)
        .find_map(|entry| match entry.kind {
            USER => (entry.whose != 0).then_some(Writer::User(entry.whose)),
            GROUP => Some(Writer::Group(entry.whose)),
            OWNING_GROUP => Some(Writer::OwningGroup),
            EVERYBODY => Some(Writer::Everybody),
            // The owner, which is root, and the mask.
            _ => None,
        })
}

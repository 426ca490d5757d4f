//! Whether the disks that the container runtime and the kubelet write to can be written.

use std::path::Path;

use nix::sys::statvfs::{FsFlags, statvfs};

/// Where they write. Each may be a file system of its own.
const WRITTEN: [&str; 4] = [
    "var/lib/containerd",
    "var/lib/kubelet",
    "var",
    "run/containerd",
];

/// With less than this, in bytes, no program can work there.
const LEAST: u64 = 1 << 20;

/// What statvfs(2) says of a file system.
#[derive(Clone, Copy, Debug)]
struct Facts {
    read_only: bool,
    free: u64,
    /// `None` where the file system makes inodes as needed.
    inodes: Option<u64>,
}

/// What keeps programs from writing, for a person.
pub(super) fn amiss(root: &Path) -> Option<String> {
    WRITTEN.iter().find_map(|folder| {
        let fault = fault(look(&root.join(folder))?)?;
        Some(format!("/{folder} {fault}"))
    })
}

/// `None` where there is no such folder, or the kernel does not tell.
fn look(folder: &Path) -> Option<Facts> {
    let stat = statvfs(folder).ok()?;
    Some(Facts {
        read_only: stat.flags().contains(FsFlags::ST_RDONLY),
        // Both services are root's, which has a reserve of its own.
        free: stat.blocks_free().saturating_mul(stat.fragment_size()),
        inodes: (stat.files() > 0).then(|| stat.files_free()),
    })
}

fn fault(facts: Facts) -> Option<&'static str> {
    match facts {
        Facts {
            read_only: true, ..
        } => Some("is on a file system that can only be read"),
        Facts { free, .. } if free < LEAST => Some("has no room left"),
        Facts {
            inodes: Some(0), ..
        } => Some("has no inodes left"),
        Facts { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WELL: Facts = Facts {
        read_only: false,
        free: 1 << 30,
        inodes: Some(9),
    };

    #[test]
    fn disk_that_cannot_be_written_is_told_by_its_fault() {
        assert_eq!(fault(WELL), None);
        assert_eq!(
            fault(Facts {
                inodes: None,
                ..WELL
            }),
            None
        );
        let read_only = Facts {
            read_only: true,
            ..WELL
        };
        assert!(fault(read_only).unwrap().contains("only be read"));
        let full = Facts { free: 4096, ..WELL };
        assert_eq!(fault(full), Some("has no room left"));
        let inodes = Some(0);
        assert!(fault(Facts { inodes, ..WELL }).unwrap().contains("inodes"));
        assert_eq!(amiss(Path::new("/no such root")), None);
    }
}

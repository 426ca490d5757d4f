//! Whether the boot loader honours a one-shot entry.

use std::path::Path;

use host::file_system::FileSystem;
use host::loader;
use host::programs::Program;
use upgrade::Reason;

use super::finding::Finding;
use super::patient::Patient;

const NAME: &str = "loader";
/// Year and release from which libostree refuses a /boot on vfat (ostree-sysroot.c,
/// `validate_boot_fd`).
const REFUSES_VFAT: (u32, u32) = (2025, 3);

/// Uses the same code that refuses a request, and the libostree that writes the entries.
pub(super) fn loader(patient: &Patient) -> Finding {
    let is_vfat = is_vfat(&patient.places.boot);
    let libostree = is_vfat.then(|| libostree(&patient.places.root)).flatten();
    judge(
        loader::fitness(&patient.places, &patient.kernel),
        is_vfat,
        libostree,
    )
}

fn judge(fitness: Result<(), Reason>, is_vfat: bool, libostree: Option<(u32, u32)>) -> Finding {
    match fitness {
        Ok(()) if is_vfat => on_vfat(libostree),
        Ok(()) => Finding::ok(NAME, "GRUB boots an entry once and clears it"),
        Err(Reason::LoaderUnfit { detail }) => Finding::bad(
            NAME,
            detail,
            "fix the boot loader: /usr/share/doc/careen/bootloader.md says what GRUB must do, and where /boot may be",
        ),
        Err(other) => Finding::bad(
            NAME,
            other.to_string(),
            "fix what this names; /usr/share/doc/careen/bootloader.md says what GRUB must do",
        ),
    }
}

/// GRUB writes vfat, and so do older versions of libostree. An image with a newer version then
/// boots, and cannot become the default.
fn on_vfat(libostree: Option<(u32, u32)>) -> Finding {
    let fix = "make /boot a partition with ext4 or xfs (/usr/share/doc/careen/bootloader.md)";
    match libostree {
        Some((year, release)) if (year, release) >= REFUSES_VFAT => Finding::bad(
            NAME,
            format!("/boot is vfat, which libostree {year}.{release} refuses"),
            fix,
        ),
        _ => Finding::warn(
            NAME,
            "/boot is vfat, which libostree refuses from 2025.3 on",
            fix,
        ),
    }
}

fn is_vfat(boot: &Path) -> bool {
    FileSystem::of(boot).is_ok_and(|found| found == FileSystem::Vfat)
}

/// The version of the system's libostree, from its own program, because the agent does not link the
/// library.
fn libostree(root: &Path) -> Option<(u32, u32)> {
    let mut ostree = Program::Ostree.command_below(root).ok()?;
    let output = ostree.arg("--version").output().ok()?;
    version(&String::from_utf8_lossy(&output.stdout))
}

/// `ostree --version` writes YAML: ` Version: '2025.4'`.
fn version(text: &str) -> Option<(u32, u32)> {
    let line = text
        .lines()
        .find_map(|line| line.trim().strip_prefix("Version:"))?;
    let (year, release) = line.trim().trim_matches('\'').split_once('.')?;
    Some((year.parse().ok()?, release.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok as Well, Warn};
    use super::*;

    #[test]
    fn a_boot_on_vfat_is_bad_where_libostree_refuses_it() {
        let on_vfat = |libostree| judge(Ok(()), true, libostree);
        let refused = on_vfat(Some((2025, 3)));
        assert_eq!(refused.verdict, Bad);
        assert!(refused.found.contains("2025.3"), "{}", refused.found);
        assert_eq!(on_vfat(Some((2026, 1))).verdict, Bad);
        for older in [Some((2025, 2)), Some((2022, 7)), None] {
            assert_eq!(on_vfat(older).verdict, Warn, "{older:?}");
        }
    }

    #[test]
    fn a_boot_on_another_file_system_is_judged_by_grub_alone() {
        assert_eq!(judge(Ok(()), false, Some((2026, 4))).verdict, Well);
        let detail = "no next_entry".to_owned();
        let unfit = judge(Err(Reason::LoaderUnfit { detail }), true, None);
        assert_eq!(
            (unfit.verdict, unfit.found.as_str()),
            (Bad, "no next_entry")
        );
    }

    #[test]
    fn the_version_of_libostree_is_read_from_its_program() {
        let said = "libostree:\n Version: '2025.4'\n Git: 1234\n Features:\n  - libcurl\n";
        assert_eq!(version(said), Some((2025, 4)));
        for other in ["", "libostree 2025.4", " Version: 'next'\n"] {
            assert_eq!(version(other), None, "{other:?}");
        }
    }
}

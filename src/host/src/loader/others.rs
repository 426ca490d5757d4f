//! Names a boot loader that Careen does not support, by what it leaves on a machine.

use std::fs;
use std::path::Path;

use crate::Places;

/// Where systemd-boot says what it is (systemd, docs/BOOT_LOADER_INTERFACE.md).
const LOADER_INFO: &str =
    "sys/firmware/efi/efivars/LoaderInfo-4a67b082-0a4c-41cf-b6c7-440b29bb8c4f";

/// The files that libostree writes for other loaders (libostree, ostree-bootloader-*.c).
const WRITTEN_FOR: [(&str, &str); 4] = [
    ("loader/uEnv.txt", "U-Boot"),
    ("uEnv.txt", "U-Boot"),
    ("syslinux/syslinux.cfg", "syslinux"),
    ("loader/syslinux.cfg", "syslinux"),
];

/// What boots this machine, if it is known not to be supported. `kernel` is the folder that holds
/// `sys` and `proc`.
pub(super) fn unsupported(places: &Places, kernel: &Path) -> Option<&'static str> {
    if is_composefs_of_bootc(places) {
        return Some("bootc's composefs back end, which has no OSTree deployments,");
    }
    if is_systemd_boot(kernel) {
        return Some("systemd-boot");
    }
    // A machine may keep files of the loader that it had before.
    if places.grubenv().exists() {
        return None;
    }
    let there = |(file, _): &&(&str, _)| places.boot.join(file).exists();
    WRITTEN_FOR.iter().find(there).map(|(_, name)| *name)
}

/// It keeps deployments in `state/deploy` (bootc, crates/lib/src/composefs_consts.rs).
fn is_composefs_of_bootc(places: &Places) -> bool {
    places.sysroot.join("state/deploy").is_dir() && !places.sysroot.join("ostree/deploy").is_dir()
}

/// The variable has four bytes of attributes, and then UTF-16.
fn is_systemd_boot(kernel: &Path) -> bool {
    let Ok(variable) = fs::read(kernel.join(LOADER_INFO)) else {
        return false;
    };
    let text = variable.get(4..).unwrap_or_default().chunks_exact(2);
    let units: Vec<u16> = text
        .map(|pair| u16::from_le_bytes([pair[0], pair[1]]))
        .collect();
    String::from_utf16_lossy(&units).starts_with("systemd-boot")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(files: &[(&str, &[u8])]) -> Option<&'static str> {
        let root = tempfile::tempdir().unwrap();
        for (file, content) in files {
            let path = root.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        unsupported(&Places::running(root.path()), root.path())
    }

    fn loader_info(text: &str) -> Vec<u8> {
        let units = text.encode_utf16().flat_map(u16::to_le_bytes);
        [6, 0, 0, 0].into_iter().chain(units).collect()
    }

    #[test]
    fn loader_that_careen_does_not_support_has_its_name() {
        let systemd = loader_info("systemd-boot 257.8");
        let bootc = "sysroot/state/deploy/x/origin";
        assert_eq!(named(&[(LOADER_INFO, &systemd)]), Some("systemd-boot"));
        assert_eq!(named(&[("boot/loader/uEnv.txt", b"")]), Some("U-Boot"));
        assert_eq!(
            named(&[("boot/syslinux/syslinux.cfg", b"")]),
            Some("syslinux")
        );
        assert!(named(&[(bootc, b"")]).is_some_and(|name| name.starts_with("bootc")));
    }

    #[test]
    fn machine_with_grub_has_no_unsupported_loader() {
        let grub = loader_info("GRUB 2.12-9");
        assert_eq!(named(&[]), None);
        assert_eq!(named(&[(LOADER_INFO, &grub)]), None);
        assert_eq!(named(&[(LOADER_INFO, b"6")]), None);
        let before = [("boot/grub/grubenv", &b""[..]), ("boot/uEnv.txt", b"")];
        assert_eq!(named(&before), None);
        let deployed = [
            ("sysroot/state/deploy/x", &b""[..]),
            ("sysroot/ostree/deploy/y", b""),
        ];
        assert_eq!(named(&deployed), None);
    }
}

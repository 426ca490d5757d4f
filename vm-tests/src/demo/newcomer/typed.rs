//! The lines for this machine as one script: the pages' blocks in order, and the rig's own steps in
//! between.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use rig::images;
use testkit::control_plane::HOST_SEEN_FROM_GUEST;
use testkit::{debian, programs};

use super::pages::{Block, Fate};

/// The variables of the pages that name this machine or no machine.
const OURS: &str = "URL=$RIG_URL\nMIRROR=$RIG_MIRROR\n";

/// The first image has the older Kubernetes.
const RELEASE: &str = "release=v1.36.3\n";

/// An emulated machine has a serial console. Its processor does not speculate, so mitigations are
/// useless.
const KARGS: &str = "--karg=rw ";
const MORE_KARGS: &str = "--karg=rw --karg=console=ttyS0 --karg=mitigations=off ";

/// Not every kernel finds the partitions of a disk in a file.
const DISK_PARTED: &str = "| sfdisk /dev/sda\n";
const PARTITIONS_THERE: &str = "| sfdisk /dev/sda\npartitions\n";

/// The result of typing everything.
#[derive(Debug)]
pub struct Made {
    /// The BIOS disk with the first image.
    pub bios: PathBuf,
    /// The UEFI disk with the first image.
    pub uefi: PathBuf,
    /// The commits: the image on the disk, the bad one, and the good one.
    pub commits: [String; 3],
}

/// The working folder below a folder: the home of the person who types, and in it the empty folder
/// in which docs/images.md begins.
pub fn folder(dir: &Path) -> PathBuf {
    dir.join("home/images")
}

/// Types the script in `dir`, for nodes that find the repository on this port.
///
/// # Errors
///
/// Fails at the first line that fails.
pub fn on_this_machine(blocks: &[Block], dir: &Path, port: u16) -> Result<Made> {
    let folder = folder(dir);
    fs::create_dir_all(&folder)?;
    let home = folder.parent().context("no home")?.to_owned();
    let releases = images::kubernetes()?;
    serve(&releases, &home.join("releases"))?;
    let file = home.join("typed.sh");
    let versions = releases.each_ref().map(|(version, _)| *version);
    fs::write(&file, script(blocks, versions)?)?;
    symlink(
        fs::canonicalize(programs::home().join(".."))?,
        home.join("careen"),
    )?;
    let mut bash = Command::new("bash");
    bash.arg(&file).current_dir(&folder).env("HOME", &home);
    bash.env("RIG", programs::home())
        .env("RIG_KUBERNETES", home.join("releases"))
        .env("RIG_DEBIAN", debian::root()?)
        .env("RIG_CONTAINERS", debian::containers()?)
        .env("RIG_URL", format!("http://{HOST_SEEN_FROM_GUEST}:{port}/"));
    let status = bash.status().context("cannot run bash")?;
    ensure!(status.success(), "{} ended with {status}", file.display());
    let commit = |name: &str| {
        let text = fs::read_to_string(home.join(name))?;
        Ok::<_, anyhow::Error>(text.trim().to_owned())
    };
    Ok(Made {
        bios: home.join("bios.raw"),
        uefi: home.join("uefi.raw"),
        commits: [commit("first")?, commit("bad")?, commit("good")?],
    })
}

/// The rig's programs under the names of Kubernetes' own releases.
fn serve(releases: &[(&str, PathBuf)], folder: &Path) -> Result<()> {
    for (version, program) in releases {
        let release = folder.join(version);
        fs::create_dir_all(&release)?;
        for name in ["kubelet", "kubeadm"] {
            symlink(program, release.join(name))?;
        }
    }
    Ok(())
}

/// The script for two images and a bad one, with these versions of Kubernetes. It makes the disks
/// between the first two images.
fn script(blocks: &[Block], [older, newer]: [&str; 2]) -> Result<String> {
    let of = |fates: &'static [Fate]| {
        blocks
            .iter()
            .filter(move |block| fates.contains(&block.fate))
    };
    let mut script = "set -eu\n. \"$RIG/newcomer/rig.sh\"\nset -v\n".to_owned();
    for block in of(&[Fate::Once, Fate::Each]) {
        script += &typed(block, older)?;
    }
    script += "ostree --repo=repo rev-parse site/stable >../first\n";
    let (bios, uefi) = (of(&[Fate::Disk, Fate::Bios]), of(&[Fate::Disk, Fate::Uefi]));
    for (firmware, blocks) in [("bios", bios), ("uefi", uefi)] {
        script += &format!("empty_disk {firmware}\n");
        for block in blocks {
            script += &typed(block, older)?;
        }
    }
    for block in of(&[Fate::Again]).chain(of(&[Fate::Each])) {
        script += &typed(block, newer)?;
    }
    script += "ostree --repo=repo rev-parse site/stable >../good\n";
    for block in of(&[Fate::Bad]) {
        script += &typed(block, newer)?;
    }
    script += "ostree --repo=repo rev-parse site/bad >../bad\n";
    Ok(script)
}

/// A block with the rig's replacements and additions.
fn typed(block: &Block, release: &str) -> Result<String> {
    let Block { page, line, .. } = block;
    let mut text = block.text.clone();
    let mut behind = "";
    if text.starts_with("CAREEN=") {
        behind = OURS;
    } else if text.starts_with("release=") {
        text = instead(&text, RELEASE, &format!("release={release}\n"))?;
    } else if text.contains("etc/shadow") {
        behind = "own_things\n";
    } else if text.contains(DISK_PARTED) {
        text = instead(&text, DISK_PARTED, PARTITIONS_THERE)?;
    } else if text.contains(KARGS) {
        text = instead(&text, KARGS, MORE_KARGS)?;
    }
    // The pages' disk name may be a disk of this machine, which must never be touched.
    let text = ["1", "2", "3", ""].iter().fold(text, |text, part| {
        text.replace(&format!("/dev/sda{part}"), &format!("$sda{part}"))
    });
    ensure!(
        !text.replace("/dev/null", "").contains("/dev/"),
        "{page}, line {line}: no device of this machine is typed"
    );
    Ok(format!("at='{page}, line {line}'\n{text}{behind}"))
}

fn instead(text: &str, said: &str, ours: &str) -> Result<String> {
    ensure!(
        text.contains(said),
        "the page does not say {said:?} any more"
    );
    Ok(text.replace(said, ours))
}

#[cfg(test)]
mod tests {
    use super::super::pages::blocks;
    use super::*;

    #[test]
    fn script_types_all_pages_and_names_no_disk_of_the_host() -> Result<()> {
        let script = script(&blocks()?, ["v1.35.4", "v1.36.3"])?;
        for (line, times) in [
            ("INITRD=No mmdebstrap", 2),
            ("release=v1.35.4\n", 1),
            ("release=v1.36.3\n", 1),
            ("own_things\n", 2),
            ("--branch=site/stable", 2),
            ("rm -r root kubernetes\n", 1),
            ("--branch=site/bad", 1),
            (MORE_KARGS, 2),
            ("| sfdisk $sda\npartitions\n", 2),
            (
                "| sfdisk $sda\npartitions\nmkfs.vfat -F 32 -n ESP $sda1\n",
                1,
            ),
            ("mkfs.ext4 -L boot $sda2\n", 2),
            ("mount $sda1 target/boot/efi\n", 1),
            ("empty_disk ", 2),
            ("umount -R target\n", 2),
            (
                "grub-install --target=i386-pc --boot-directory=target/boot $sda\n",
                1,
            ),
            (OURS, 1),
        ] {
            assert_eq!(script.matches(line).count(), times, "{line}");
        }
        assert!(!script.contains("/dev/sda"));
        Ok(())
    }

    #[test]
    fn another_device_than_the_disk_is_refused() -> Result<()> {
        let block = |text: &str| Block {
            page: "page",
            line: 7,
            text: text.to_owned(),
            fate: Fate::Disk,
        };
        assert!(typed(&block("mkfs.ext4 /dev/sdb1\n"), "").is_err());
        assert!(typed(&block("mkfs.ext4 /dev/sda3 >/dev/null\n"), "")?.contains("$sda3 "));
        Ok(())
    }
}

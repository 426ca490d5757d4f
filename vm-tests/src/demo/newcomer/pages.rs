//! All code blocks of docs/images.md and docs/install.md, and what `make demo WAY=newcomer` does
//! with each. A block that is added, removed or begins differently is an error, so that every new
//! block gets a decision.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use testkit::programs;

/// What the demo does with a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// Typed on this machine, once.
    Once,
    /// Typed on this machine for each image.
    Each,
    /// Typed on this machine after the first image, for a BIOS disk and for a UEFI disk.
    Disk,
    /// Typed for the BIOS disk.
    Bios,
    /// Typed for the UEFI disk.
    Uefi,
    /// Typed on this machine before the second image.
    Again,
    /// Typed on this machine after the second image. It makes a bad one.
    Bad,
    /// Appended to a file on the node: `/etc/careen/policy.toml`.
    Policy,
    /// Each line typed on the node.
    Node,
    /// Typed where kubectl is. It requests the running image.
    Same,
    /// Typed where kubectl is. It requests the bad image.
    Back,
    /// Typed where kubectl is. It requests the second image.
    On,
    /// Not typed, for this reason.
    Nobody(&'static str),
}
use Fate::{Again, Back, Bad, Bios, Disk, Each, Nobody, Node, On, Once, Policy, Same, Uefi};

/// A block of code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// Its page.
    pub page: &'static str,
    /// Its first line, counted from 1.
    pub line: usize,
    /// Its lines, without their common indentation.
    pub text: String,
    /// What the demo does with it.
    pub fate: Fate,
}

const OTHER_WAY: Fate = Nobody("another way to the same, for whom it fits better");
const REGISTRY: Fate = Nobody("the scenario upgrades-from-a-container-registry has its own");

/// The beginnings of a page's blocks, in order.
type Table = &'static [(&'static str, Fate)];

const IMAGES: Table = &[
    ("apt-get update", Once),
    ("CAREEN=$HOME/careen", Once),
    ("release=v1.36.3", Each),
    ("export GNUPGHOME=", Once),
    ("INITRD=No mmdebstrap ", Each),
    ("for file in systemd/system/kubelet.service ", Each),
    ("install -d root/etc/containerd", Each),
    ("sed -i 's|/usr/lib/cni|/opt/cni/bin|' ", Each),
    ("chroot root sh -c 'apt-get update ", Each),
    ("cd \"$CAREEN\"", OTHER_WAY),
    ("install -D -m 755 -t root/usr/libexec/careen ", OTHER_WAY),
    ("version=$(chroot root kubelet --version ", Each),
    (
        "install -d root/usr/lib/careen/images",
        Nobody("only a control plane without a registry needs it"),
    ),
    ("install -d root/usr/lib/ostree ", Each),
    ("kernel=$(ls root/usr/lib/modules)", Each),
    ("for folder in home opt srv mnt ", Each),
    ("chroot root systemctl preset-all", Each),
    ("ostree --repo=repo init --mode=archive", Each),
    ("rm -r root kubernetes", Again),
    ("apt-get install \"$(dirname ", REGISTRY),
    ("[registry]", REGISTRY),
    ("install -d /srv/images", REGISTRY),
    ("[registry]", REGISTRY),
];

const REMOVES: Fate = Nobody("it removes Careen from the node");
const OVERVIEW: Fate = Nobody("an overview of the ways to install; each has its own page");

const INSTALL: Table = &[
    ("cp \"$DEB\" root/tmp/careen.deb", OVERVIEW),
    ("sed -e \"s|IMAGE|", OVERVIEW),
    (
        "kubectl apply -f packaging/daemonset/namespace.yaml",
        OVERVIEW,
    ),
    ("apt-get update", Bios),
    ("apt-get update", Uefi),
    ("mkfs.ext4 -L boot /dev/sda2", Disk),
    ("mkdir -p target/boot/grub", Disk),
    ("grub-install --target=i386-pc ", Bios),
    ("mkdir target/boot/efi", Uefi),
    ("[remote \"site\"]", Nobody("the image brings it")),
    ("remotes = [\"site\"]", Policy),
    ("careen-agent doctor ", Node),
    ("kubectl annotate node N --overwrite \\", Same),
    ("printf '#!/bin/sh\\nexit 1\\n' >root/usr/bin/kubelet", Bad),
    (
        "kubectl careen upgrade worker-1 --image ostree:site:site/bad@",
        Back,
    ),
    ("kubectl careen plan worker-1 ", On),
    ("ostree pull site:site/without-careen", REMOVES),
    (
        "unshare -m sh -c 'mount -o remount,rw,bind /sysroot",
        REMOVES,
    ),
];

/// The blocks of both pages in the source tree.
///
/// # Errors
///
/// Fails when a page has other blocks than this table.
pub fn blocks() -> Result<Vec<Block>> {
    let pages = [("docs/images.md", IMAGES), ("docs/install.md", INSTALL)];
    let mut all = Vec::new();
    for (page, table) in pages {
        let path = programs::home().join("..").join(page);
        let text =
            fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        all.extend(of(page, &text, table)?);
    }
    Ok(all)
}

fn of(page: &'static str, text: &str, table: Table) -> Result<Vec<Block>> {
    let mut known = table.iter();
    let mut all = Vec::new();
    for (line, text) in code(text) {
        let at = format!("{page}, line {line}");
        let Some((begins, fate)) = known.next() else {
            bail!("{at}: say in vm-tests/src/demo/newcomer/pages.rs who types this block");
        };
        ensure!(
            text.starts_with(begins),
            "{at}: this block is not the one that begins with {begins:?}; say in vm-tests/src/demo/newcomer/pages.rs who types it"
        );
        let fate = *fate;
        all.push(Block {
            page,
            line,
            text,
            fate,
        });
    }
    match known.next() {
        Some((begins, _)) => bail!("{page} has no block any more that begins with {begins:?}"),
        None => Ok(all),
    }
}

/// The fenced blocks, and the blocks that are indented after an empty line (in a list twice as
/// far), with their first line numbers.
fn code(text: &str) -> Vec<(usize, String)> {
    let mut all: Vec<(usize, String)> = Vec::new();
    let (mut fenced, mut empty, mut deep) = (false, true, 4_usize);
    let mut indent: Option<usize> = None;
    for (number, line) in (1_usize..).zip(text.lines()) {
        let spaces = line.len() - line.trim_start().len();
        if spaces == 0 && !line.is_empty() {
            let is_item = line.starts_with("- ") || line.starts_with(|c: char| c.is_ascii_digit());
            deep = if is_item { 8 } else { 4 };
        }
        if line.starts_with("```") {
            fenced = !fenced;
            if fenced {
                all.push((number + 1, String::new()));
            }
        } else if fenced {
            add(&mut all, line);
        } else if let Some(indent) = indent.filter(|indent| spaces >= *indent) {
            add(&mut all, &line[indent..]);
        } else if spaces >= deep && empty && !line.trim().is_empty() {
            indent = Some(spaces);
            all.push((number, String::new()));
            add(&mut all, &line[spaces..]);
        } else {
            indent = None;
        }
        empty = line.is_empty();
    }
    all
}

fn add(all: &mut [(usize, String)], line: &str) {
    if let Some((_, text)) = all.last_mut() {
        text.push_str(line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_every_block_of_both_pages_it_is_said_who_types_it() -> Result<()> {
        let blocks = blocks()?;
        let typed = blocks
            .iter()
            .filter(|block| !matches!(block.fate, Nobody(_)));
        assert!(typed.count() > 20, "{blocks:#?}");
        Ok(())
    }

    #[test]
    fn code_finds_fenced_and_indented_blocks_but_no_list_text() {
        let text = "1. one\n    goes on\n\n    still\n\n        list a\n          list b\n\nText\n\n```sh\na\n\nb\n```\n\n    c\n    d\nend\n";
        let found = code(text);
        let wanted: [(usize, &str); 3] =
            [(6, "list a\n  list b\n"), (12, "a\n\nb\n"), (17, "c\nd\n")];
        assert_eq!(found, wanted.map(|(line, text)| (line, text.to_owned())));
    }

    #[test]
    fn added_removed_or_changed_block_is_reported() {
        let table: Table = &[("one", Once), ("two", Each)];
        let told = |text: &str| {
            of("page", text, table)
                .err()
                .map(|error| error.to_string())
                .unwrap_or_default()
        };
        assert_eq!(told("    one\n\ntext\n\n    two\n"), "");
        assert!(told("    one\n\ntext\n\n    new\n").contains("page, line 5"));
        assert!(told("    one\n").contains("\"two\""));
        let third = "    one\n\nx\n\n    two\n\nx\n\n    three\n";
        assert!(told(third).contains("page, line 9"));
    }
}

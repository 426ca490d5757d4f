//! /boot as GRUB sees it: the blocks that are there, with no journal replayed and no checksum
//! minded.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use host::boot::Link;
use host::kernel;
use host::loader::grub::Grubenv;

/// What GRUB would do.
pub struct Menu {
    /// The `ostree=` of each entry, the default first.
    pub entries: Vec<Link>,
    /// The entry that the one-shot names.
    pub armed: Option<usize>,
}

/// Reads the menu, and the kernel and the initramfs of each entry.
pub fn look(disk: &Path, scratch: &Path) -> Result<Menu, String> {
    fs::create_dir_all(scratch).unwrap();
    let (config, env) = (scratch.join("grub.cfg"), scratch.join("grubenv"));
    let wanted = [("/loader/grub.cfg", &config), ("/grub/grubenv", &env)];
    dump(disk, wanted.into_iter());
    let text = fs::read_to_string(&config).map_err(|_| "GRUB finds no grub.cfg")?;
    let entries = entries(&text)?;
    if entries.is_empty() {
        return Err(format!("GRUB finds no entry in {text:?}"));
    }
    let block = fs::read(&env).unwrap_or_default();
    // GRUB boots the default with one that it cannot read; so does the test, and minds.
    let env = Grubenv::parse(&block).map_err(|detail| format!("grubenv: {detail}"))?;
    let armed = env.next_entry().map(|value| value.parse().unwrap());
    for (at, entry) in entries.iter().enumerate() {
        entry.check(disk, &scratch.join(at.to_string()))?;
    }
    let _ = fs::remove_dir_all(scratch);
    let entries = entries.into_iter().map(|entry| entry.link).collect();
    Ok(Menu { entries, armed })
}

struct Entry {
    kernel: String,
    initramfs: String,
    link: Link,
}

impl Entry {
    /// libostree's checksum of what GRUB would load must be the one in the entry.
    fn check(&self, disk: &Path, scratch: &Path) -> Result<(), String> {
        fs::create_dir_all(scratch).unwrap();
        let files = [&self.kernel, &self.initramfs];
        let local: Vec<PathBuf> = files
            .iter()
            .map(|path| scratch.join(Path::new(path).file_name().unwrap()))
            .collect();
        let wanted = files.iter().map(|path| path.as_str()).zip(&local);
        dump(disk, wanted);
        let sum = kernel::checksum(scratch).map_err(|error| format!("GRUB's kernel: {error}"))?;
        if sum == self.link.bootcsum {
            Ok(())
        } else {
            Err(format!(
                "GRUB loads a torn kernel or initramfs: {}",
                self.kernel
            ))
        }
    }
}

fn entries(text: &str) -> Result<Vec<Entry>, String> {
    let blocks = text.split("menuentry ").skip(1);
    blocks
        .filter(|block| block.contains("ostree="))
        .map(|block| entry(block).ok_or_else(|| format!("GRUB cannot boot by {block:?}")))
        .collect()
}

fn entry(block: &str) -> Option<Entry> {
    let words = |command: &str| {
        let mut lines = block.lines().map(str::trim);
        lines.find_map(|line| line.strip_prefix(command)?.strip_prefix(' '))
    };
    let linux = words("linux")?;
    let link = linux
        .split_whitespace()
        .find_map(|word| word.strip_prefix("ostree="))?;
    Some(Entry {
        kernel: linux.split_whitespace().next()?.to_owned(),
        initramfs: words("initrd")?.trim().to_owned(),
        link: link.parse().ok()?,
    })
}

/// Copies files out; one that is not there is not made.
fn dump<'a>(disk: &Path, files: impl Iterator<Item = (&'a str, &'a PathBuf)>) {
    use std::io::Write;
    let mut child = Command::new("debugfs")
        .args(["-n", "-f", "-"])
        .arg(disk)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    for (from, to) in files {
        let _ = fs::remove_file(to);
        writeln!(input, "dump {from} {}", to.display()).unwrap();
    }
    drop(input);
    child.wait().unwrap();
}

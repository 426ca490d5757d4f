//! `careen-grub -o FILE`: writes grub.cfg when libostree changes the boot entries
//! (`OSTREE_GRUB2_EXEC`).
//!
//! libostree calls it before it swaps the link `loader`, so the entries to read are next to FILE
//! (`boot/loader.N/grub.cfg`). On EFI, FILE is on the ESP and `_OSTREE_GRUB2_BOOTVERSION` is N
//! (libostree, ostree-bootloader-grub2.c). It reads only files: an installer runs it without /dev.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use host::boot::{Link, entries};
use host::loader::grub::generate::{Item, render};
use host::loader::trial_arguments;
use host::{Places, durable};
use lexopt::prelude::*;
use upgrade::exit;

const USAGE: &str = "usage: careen-grub -o FILE [--boot DIR]";

struct Wanted {
    output: PathBuf,
    boot: PathBuf,
    /// The set of entries, `loader.N`.
    set: PathBuf,
}

fn main() -> ExitCode {
    let wanted = match wanted() {
        Ok(Some(wanted)) => wanted,
        Ok(None) => {
            println!("{USAGE}");
            return ExitCode::SUCCESS;
        }
        Err(error) => {
            eprintln!("careen-grub: {error}\n{USAGE}");
            return ExitCode::from(exit::USAGE);
        }
    };
    match write(&wanted) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("careen-grub: {error}; grub.cfg is unchanged");
            ExitCode::FAILURE
        }
    }
}

/// What to write; `None` to print the usage.
fn wanted() -> Result<Option<Wanted>, lexopt::Error> {
    let (mut output, mut boot) = (None, None);
    let mut parser = lexopt::Parser::from_env();
    while let Some(argument) = parser.next()? {
        match argument {
            Short('o') => output = Some(PathBuf::from(parser.value()?)),
            Long("boot") => boot = Some(PathBuf::from(parser.value()?)),
            Short('h') | Long("help") => return Ok(None),
            Short(_) | Long(_) | Value(_) => return Err(argument.unexpected()),
        }
    }
    let output = output.ok_or("-o FILE is missing")?;
    let boot = boot
        .or_else(|| boot_above(&output))
        .ok_or("FILE is not below a folder called boot: give --boot DIR")?;
    let set = set(&output, &boot)
        .ok_or("there is no loader.N beside FILE, and _OSTREE_GRUB2_BOOTVERSION is not set")?;
    Ok(Some(Wanted { output, boot, set }))
}

fn boot_above(output: &Path) -> Option<PathBuf> {
    output
        .ancestors()
        .find(|folder| folder.ends_with("boot"))
        .map(Path::to_owned)
}

fn set(output: &Path, boot: &Path) -> Option<PathBuf> {
    let beside = output.parent()?;
    if beside.join("entries").is_dir() {
        return Some(beside.to_owned());
    }
    let version: u32 = env::var("_OSTREE_GRUB2_BOOTVERSION").ok()?.parse().ok()?;
    Some(boot.join(format!("loader.{version}")))
}

fn write(wanted: &Wanted) -> host::Result<()> {
    let sysroot = wanted.boot.join("..");
    let items = items(&wanted.set, &sysroot)?;
    let places = Places {
        root: "/".into(),
        sysroot,
        boot: wanted.boot.clone(),
    };
    // GRUB sees the file system of /boot. If that is the root's, libostree's `bootprefix` puts
    // /boot before every path.
    let prefixed = items
        .first()
        .is_some_and(|item| item.entry.linux.starts_with("/boot/"));
    let folder = places
        .grub()
        .file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default();
    let grubenv = format!("{}/{folder}/grubenv", if prefixed { "/boot" } else { "" });
    let menu = render(&items, &grubenv, &trial_arguments(&places));
    durable::write(&wanted.output, menu.as_bytes(), 0o600)
}

/// The default and pinned deployments have proved themselves. Everything else is at best on trial.
fn items(set: &Path, sysroot: &Path) -> host::Result<Vec<Item>> {
    let proven = |link: Option<&str>| {
        let link: Option<Link> = link.and_then(|link| link.parse().ok());
        // An entry without its tree is no place to fall back to.
        link.and_then(|link| link.follow(sysroot).ok())
            .is_some_and(|(deployment, _)| deployment.pinned)
    };
    let found = entries(set)?;
    if let Some((entry, field)) = found.iter().find_map(|entry| Some((entry, entry.torn?))) {
        return Err(host::Error::Damaged {
            path: set.join("entries"),
            detail: format!(
                "{field} of entry {:?} is not UTF-8, and a kernel with other arguments may not boot",
                entry.title
            ),
        });
    }
    let found = found.into_iter().enumerate();
    Ok(found
        .map(|(at, entry)| Item {
            proven: at == 0 || proven(entry.ostree()),
            entry,
        })
        .collect())
}

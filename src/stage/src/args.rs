//! The command line. Every input is a flag, so that a test can simulate a whole boot in a folder.

use std::path::PathBuf;

use host::Places;
use lexopt::prelude::*;

/// The message for a wrong call, and for `--help`.
pub const USAGE: &str = "usage: careen-stage guard|verify|check|deadman|restore|repair|fallback|gate
  --sysroot DIR   the physical root (/sysroot; after ostree-prepare-root in the initramfs /sysroot/sysroot)
  --root DIR      the root that runs or will run (/; in the initramfs /sysroot)
  --boot DIR      what the boot loader reads (/boot; in the initramfs boot below --sysroot)
  --run DIR       /run
  --cmdline FILE  /proc/cmdline
  --boot-id FILE  /proc/sys/kernel/random/boot_id
  --now MS        milliseconds since boot, instead of the kernel's clock
  --limit S       deadman: reboot after S seconds, or what the kernel command line says, whatever the record says
  --patience S    deadman: wait S seconds for the disk when the trial is due, instead of 60
  --initramfs     use the places of the initramfs
  --dry-run       instead of a reboot, say so and exit with 3";

/// What to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// In the initramfs, before the new root is prepared.
    Guard,
    /// In the initramfs, after the new root is prepared.
    Verify,
    /// In the real root, before the kubelet.
    Check,
    /// For the whole of a trial.
    Deadman,
    /// In the old system, before the kubelet.
    Restore,
    /// In each system of a control plane, before the kubelet.
    Repair,
    /// Instead of an emergency shell.
    Fallback,
    /// Before boot-complete.target.
    Gate,
}

/// The parsed command line.
#[derive(Clone, Debug)]
pub struct Args {
    /// What to do.
    pub verb: Verb,
    /// The folders.
    pub places: Places,
    /// /run.
    pub run: PathBuf,
    /// The file with the kernel's command line.
    pub cmdline: PathBuf,
    /// The file with the boot's id.
    pub boot_id: PathBuf,
    /// Replaces the kernel's clock.
    pub now: Option<u64>,
    /// Replaces the record's deadline, in seconds.
    pub limit: Option<u64>,
    /// How long a look may take after the trial is due, in seconds.
    pub patience: Option<u64>,
    /// Reboot nothing.
    pub dry_run: bool,
}

#[derive(Default)]
struct Given {
    verb: Option<Verb>,
    sysroot: Option<PathBuf>,
    root: Option<PathBuf>,
    boot: Option<PathBuf>,
    run: Option<PathBuf>,
    cmdline: Option<PathBuf>,
    boot_id: Option<PathBuf>,
    now: Option<u64>,
    limit: Option<u64>,
    patience: Option<u64>,
    initramfs: bool,
    dry_run: bool,
}

/// Parses the command line; `None` if it asks for the usage.
///
/// # Errors
/// What is wrong with it.
pub fn parse(mut parser: lexopt::Parser) -> Result<Option<Args>, lexopt::Error> {
    let mut given = Given::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Value(verb) if given.verb.is_none() => given.verb = Some(parse_verb(&verb.string()?)?),
            Long("sysroot") => given.sysroot = Some(parser.value()?.into()),
            Long("root") => given.root = Some(parser.value()?.into()),
            Long("boot") => given.boot = Some(parser.value()?.into()),
            Long("run") => given.run = Some(parser.value()?.into()),
            Long("cmdline") => given.cmdline = Some(parser.value()?.into()),
            Long("boot-id") => given.boot_id = Some(parser.value()?.into()),
            Long("now") => given.now = Some(parser.value()?.parse()?),
            Long("limit") => given.limit = Some(parser.value()?.parse()?),
            Long("patience") => given.patience = Some(parser.value()?.parse()?),
            Long("initramfs") => given.initramfs = true,
            Long("dry-run") => given.dry_run = true,
            Short('h') | Long("help") => return Ok(None),
            Short(_) | Long(_) | Value(_) => return Err(argument.unexpected()),
        }
    }
    given.complete().map(Some)
}

fn parse_verb(text: &str) -> Result<Verb, lexopt::Error> {
    Ok(match text {
        "guard" => Verb::Guard,
        "verify" => Verb::Verify,
        "check" => Verb::Check,
        "deadman" => Verb::Deadman,
        "restore" => Verb::Restore,
        "repair" => Verb::Repair,
        "fallback" => Verb::Fallback,
        "gate" => Verb::Gate,
        other => return Err(format!("{other:?} is not a verb").into()),
    })
}

impl Given {
    fn complete(self) -> Result<Args, lexopt::Error> {
        let verb = self.verb.ok_or("the verb is missing")?;
        let early = self.initramfs || matches!(verb, Verb::Guard | Verb::Verify);
        let usual = if verb == Verb::Verify {
            "/sysroot/sysroot"
        } else {
            "/sysroot"
        };
        let sysroot = self.sysroot.unwrap_or_else(|| usual.into());
        let boot = self.boot.unwrap_or_else(|| {
            if early {
                sysroot.join("boot")
            } else {
                "/boot".into()
            }
        });
        let root = self
            .root
            .unwrap_or_else(|| if early { "/sysroot".into() } else { "/".into() });
        let or = |given: Option<PathBuf>, default: &str| given.unwrap_or_else(|| default.into());
        Ok(Args {
            verb,
            places: Places {
                root,
                sysroot,
                boot,
            },
            run: or(self.run, "/run"),
            cmdline: or(self.cmdline, "/proc/cmdline"),
            boot_id: or(self.boot_id, host::os::BOOT_ID),
            now: self.now,
            limit: self.limit,
            patience: self.patience,
            dry_run: self.dry_run,
        })
    }
}

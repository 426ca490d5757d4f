//! The mark in /run that this boot's trial is finally over. A passed trial stays passed, whatever
//! happens to the record and the boot menu later.
//!
//! The deadman writes it, and systemd reads it in the conditions of the deadman's units. Its name
//! contains the boot's id. A new kernel clears /run (also after a kexec). /run survives a soft
//! reboot, which keeps the kernel, its command line and the id.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::os;
use upgrade::{BootId, names};

use crate::args::Args;

/// Whether the mark was written in this boot.
pub fn is_left(args: &Args) -> bool {
    os::boot_id(&args.boot_id).is_ok_and(|boot| file(args, &boot).exists())
}

/// Writes the mark.
pub fn leave(args: &Args) {
    let Ok(boot) = os::boot_id(&args.boot_id) else {
        return;
    };
    let file = file(args, &boot);
    if let Err(error) = write(args, &file) {
        eprintln!(
            "careen-stage: cannot write {}: {error}. The deadman checks again each time that systemd starts it, as on a trial",
            file.display()
        );
    }
}

/// Only root may write here, as for what systemd-tmpfiles creates: a process that could write here
/// could keep a bad trial from its end.
fn write(args: &Args, file: &Path) -> io::Result<()> {
    let (mut folder, mut empty) = (DirBuilder::new(), OpenOptions::new());
    folder.recursive(true).mode(0o700).create(folder_of(args))?;
    empty.append(true).create(true).mode(0o600);
    empty.open(file).map(drop)
}

/// systemd's `%b` is the id without its hyphens.
fn file(args: &Args, boot: &BootId) -> PathBuf {
    let name = names::PASSED_MARK.trim_start_matches(names::RUN_DIR);
    let name = name.replace("<boot>", &boot.as_str().replace('-', ""));
    folder_of(args).join(name.trim_start_matches('/'))
}

fn folder_of(args: &Args) -> PathBuf {
    args.run.join(names::RUN_DIR.trim_start_matches("/run/"))
}

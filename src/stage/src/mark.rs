//! The mark in /run that this boot's trial is over for good: what has passed has passed, whatever becomes of the record and the boot menu behind it.
//!
//! The deadman writes it, and systemd reads it in the conditions of the deadman's units. Its name holds the boot's id: /run goes with the kernel
//! (a kexec among it), and lasts through a soft reboot, which leaves the kernel, its command line and the id as they are.

use std::fs::{DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::os;
use upgrade::{BootId, names};

use crate::args::Args;

/// Whether it was left in this boot.
pub fn is_left(args: &Args) -> bool {
    os::boot_id(&args.boot_id).is_ok_and(|boot| file(args, &boot).exists())
}

/// Leaves it.
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

/// Root's alone, as what systemd-tmpfiles makes: a process that could write here could keep a bad trial from its end.
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

//! Undoes a freeze that a killed run may have left behind. libostree freezes the file system of /boot for a
//! moment so that the boot loader, which replays no journal, sees what was written; a kill just there would hang
//! every writer on the node.

use std::path::Path;
use std::process::ExitCode;

/// Thaws both places where a run of ours has been killed; what is not frozen, or by somebody else, is left alone.
pub fn run() -> ExitCode {
    let places = ["/boot", "/"].map(Path::new);
    match host::freeze::thaw_left_over(Path::new("/"), &places) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("careen-deploy thaw: {error}");
            ExitCode::FAILURE
        }
    }
}

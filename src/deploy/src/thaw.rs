//! Undoes a freeze that a killed run may have left. libostree freezes the file system of /boot for
//! a moment so that the boot loader, which replays no journal, sees what was written. A kill at
//! that moment would hang every writer on the node.

use std::path::Path;
use std::process::ExitCode;

/// Thaws both places if a run of careen-deploy was killed. It leaves alone what is not frozen, or
/// what somebody else froze.
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

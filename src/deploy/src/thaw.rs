//! Undoes a freeze that a killed run may have left behind. libostree freezes the file system of /boot for a
//! moment so that the boot loader, which replays no journal, sees what was written; a kill just there would hang
//! every writer on the node.

use std::path::Path;
use std::process::ExitCode;

/// Thaws both places; one that is not frozen is left alone.
pub fn run() -> ExitCode {
    let thawed = ["/boot", "/"].map(|place| host::freeze::thaw(Path::new(place)));
    let failed: Vec<_> = thawed.into_iter().filter_map(Result::err).collect();
    failed
        .iter()
        .for_each(|error| eprintln!("careen-deploy thaw: {error}"));
    if failed.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

//! The paths of this program and of careen-deploy.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The name of careen-deploy, and its path in the image.
const DEPLOY: &str = "careen-deploy";
const OF_THE_IMAGE: &str = "/usr/libexec/careen/careen-deploy";

/// This program, by the path that started it, or `None` if the kernel does not report it. The first
/// call asks the kernel, so `main` calls this before the process gets its own mounts. After that,
/// the program is on a mount that is gone, and the kernel reports only the path below that mount
/// (`/lib/careen/…` for a program in `/var/lib/careen`).
pub fn program() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let program = PROGRAM.get_or_init(|| std::env::current_exe().ok());
    program.as_deref()
}

/// The careen-deploy that came with this agent. The two are from one build, and a pod may have
/// installed a newer pair than the image's.
pub fn deploy() -> PathBuf {
    let beside = program().map(|agent| agent.with_file_name(DEPLOY));
    let there = beside.filter(|program| program.is_file());
    there.unwrap_or_else(|| OF_THE_IMAGE.into())
}

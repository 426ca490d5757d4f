//! The paths of this program, of careen-deploy and of careen-control.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// The names of the programs that the agent starts.
const DEPLOY: &str = "careen-deploy";
const CONTROL: &str = "careen-control";

/// The folder of programs in the image.
const OF_THE_IMAGE: &str = "/usr/libexec/careen";

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
    beside(program(), DEPLOY)
}

/// The careen-control that came with this agent. Only a control plane's agent starts it.
pub fn control() -> PathBuf {
    beside(program(), CONTROL)
}

/// The program of this name beside the agent, or else the image's.
fn beside(agent: Option<&Path>, name: &str) -> PathBuf {
    let beside = agent.map(|agent| agent.with_file_name(name));
    let there = beside.filter(|program| program.is_file());
    there.unwrap_or_else(|| Path::new(OF_THE_IMAGE).join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_the_one_beside_the_agent_or_the_images() {
        let folder = tempfile::tempdir().unwrap();
        let agent = folder.path().join("careen-agent");
        let of_the_image = Path::new("/usr/libexec/careen/careen-control");
        assert_eq!(beside(Some(&agent), CONTROL), of_the_image);
        assert_eq!(beside(None, CONTROL), of_the_image);
        let brought = folder.path().join(CONTROL);
        std::fs::write(&brought, "").unwrap();
        assert_eq!(beside(Some(&agent), CONTROL), brought);
    }
}

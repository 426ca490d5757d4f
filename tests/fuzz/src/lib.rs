//! Input from outside: every parser at the edge, with arbitrary input.
//!
//! Each module is one target: a function that takes bytes and asserts what must hold of them, apart
//! from the absence of panics. Where another program reads the same bytes (GRUB, libostree), the
//! target contains that program's algorithm next to Careen's. `make fuzz` runs the targets with
//! libFuzzer. `tests/smoke.rs` runs corpus and seeded mutations through the same functions on a
//! plain build.

pub mod bootstrap;
pub mod brain;
pub mod cmdline;
pub mod entry;
pub mod grubenv;
pub mod image;
pub mod lines;
pub mod manifest;
pub mod menu;
pub mod mutate;
pub mod plan;
pub mod policy;
pub mod record;
pub mod request;
pub mod said;
mod shell;
pub mod told;

// The agent's own files without its API client, because the instrumentation of the client takes
// longer than all the rest.
#[path = "../../../src/agent/src/step/deploy/lines.rs"]
mod agent_lines;
#[path = "../../../src/agent/src/policy/mod.rs"]
#[allow(dead_code)] // the file is read by the agent alone
mod agent_policy;
#[path = "../../../src/agent/src/health/said.rs"]
mod agent_said;

/// A folder in memory, one per process: files that only a test reads need no disk.
fn folder() -> &'static std::path::Path {
    use std::sync::OnceLock;
    use tempfile::{Builder, TempDir};
    static FOLDER: OnceLock<Option<TempDir>> = OnceLock::new();
    let made = FOLDER.get_or_init(|| {
        let memory = Builder::new().tempdir_in("/dev/shm");
        memory.or_else(|_| Builder::new().tempdir()).ok()
    });
    made.as_ref()
        .map_or(std::path::Path::new("/nowhere"), TempDir::path)
}

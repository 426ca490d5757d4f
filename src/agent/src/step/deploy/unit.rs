//! The properties of the transient unit of one careen-deploy run.

use std::path::Path;

use systemd::{Property, Variant};
use upgrade::UpgradeId;
use upgrade::policy::Limits;

use super::super::oneshot::{self, SECOND};
use super::run::Run;

const MIB: u64 = 1024 * 1024;

/// The unit's name. Upgrade and verb determine it, so that a restarted agent finds the run that it
/// started before.
#[must_use]
pub fn name(id: &UpgradeId, verb: &str) -> String {
    format!("careen-deploy-{id}-{verb}.service")
}

/// The units of all runs.
pub const ALL: &str = "careen-deploy-*.service";

/// Whether the run of this unit may be stopped at any moment. The agent stops no other run: they
/// end on their own, and ignore the request inside libostree's swap.
#[must_use]
pub fn may_be_ended(name: &str) -> bool {
    let verbs = ["fetch", "verify", "plan"];
    verbs
        .iter()
        .any(|verb| name.ends_with(&format!("-{verb}.service")))
}

/// The unit's properties.
#[must_use]
pub fn properties(
    program: &Path,
    run: &Run,
    output: &Path,
    limits: &Limits,
) -> Vec<Property<'static>> {
    let description = format!("Careen: {} an operating system image", run.verb);
    let mut properties = oneshot::properties(description, program, &run.arguments, output);
    if run.swaps {
        properties.push(("ExecStopPost", thaw(program.display().to_string())));
    }
    properties.extend(caps(run, limits));
    properties
}

/// Starts the program only if a run was killed: on a small machine, loading libostree takes a
/// second.
fn thaw(program: String) -> Variant<'static> {
    // systemd replaces ${NAME}, not $0 within a word (systemd.service(5), COMMAND LINES).
    let script = r#"[ ! -e "$1" ] || exec "$0" thaw"#.to_owned();
    let mark = host::freeze::mark(Path::new("/")).display().to_string();
    let shell = "/bin/sh".to_owned();
    let argv = vec![shell.clone(), "-c".to_owned(), script, program, mark];
    Variant::new(vec![(shell, argv, true)])
}

fn caps(run: &Run, limits: &Limits) -> Vec<Property<'static>> {
    let memory = limits.memory_mib.saturating_mul(MIB);
    let time = run.seconds.unwrap_or(0).saturating_mul(SECOND);
    let mut caps = if run.swaps {
        // The OOM killer must never end it, because /boot would stay frozen. A memory limit slows
        // it down instead.
        vec![
            ("OOMScoreAdjust", Variant::new(-900_i32)),
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryHigh", Variant::new(memory)),
        ]
    } else {
        vec![
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryMax", Variant::new(memory)),
            // systemd counts processor time in microseconds per second.
            (
                "CPUQuotaPerSecUSec",
                Variant::new(u64::from(limits.cpu_percent) * 10_000),
            ),
            ("IOWeight", Variant::new(u64::from(limits.io_weight))),
        ]
    };
    // A oneshot's work is its start, and RuntimeMaxUSec does not apply to it (systemd.service(5)).
    caps.push(("TimeoutStartUSec", Variant::new(time)));
    caps.retain(|(_, value)| *value != Variant::new(0_u64));
    caps
}

#[cfg(test)]
mod tests;

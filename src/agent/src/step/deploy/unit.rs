//! What the transient unit of one careen-deploy run looks like.

use std::path::Path;

use systemd::{Property, Variant};
use upgrade::UpgradeId;
use upgrade::policy::Limits;

use super::run::Run;

const MIB: u64 = 1024 * 1024;

/// In microseconds.
const SECOND: u64 = 1_000_000;

/// The unit's name: fixed by upgrade and verb, so that an agent that was restarted finds the run that it began before.
#[must_use]
pub fn name(id: &UpgradeId, verb: &str) -> String {
    format!("careen-deploy-{id}-{verb}.service")
}

/// The units of all runs.
pub const ALL: &str = "careen-deploy-*.service";

/// Whether the run of this unit may be ended at any moment. Of the others none is told to: they end by themselves, and inside libostree's
/// swap they pay no heed.
#[must_use]
pub fn may_be_ended(name: &str) -> bool {
    let verbs = ["fetch", "verify", "plan"];
    verbs
        .iter()
        .any(|verb| name.ends_with(&format!("-{verb}.service")))
}

/// The unit's properties.
#[must_use]
pub fn properties<'a>(
    program: &'a Path,
    run: &'a Run,
    output: &'a Path,
    limits: &Limits,
) -> Vec<Property<'a>> {
    let program = program.display().to_string();
    let argv: Vec<String> = std::iter::once(program.clone())
        .chain(run.arguments.clone())
        .collect();
    let mut properties = vec![
        (
            "Description",
            Variant::new(format!("Careen: {} an operating system image", run.verb)),
        ),
        // A oneshot's start job ends when its work does, and that is a signal to wait for.
        ("Type", Variant::new("oneshot")),
        ("CollectMode", Variant::new("inactive-or-failed")),
        (
            "ExecStart",
            Variant::new(vec![(program.clone(), argv, false)]),
        ),
        // Appended: systemd opens it anew for ExecStopPost, and truncating would take the verdict away. The agent removes an old one.
        (
            "StandardOutputFileToAppend",
            Variant::new(output.display().to_string()),
        ),
        ("StandardError", Variant::new("journal")),
    ];
    if run.swaps {
        properties.push(("ExecStopPost", thaw(program)));
    }
    properties.extend(caps(run, limits));
    properties
}

/// Starts the program only where a run was killed: on a small machine libostree alone takes a second to load.
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
        // Never killed for memory: /boot would stay frozen. It is slowed down instead.
        vec![
            ("OOMScoreAdjust", Variant::new(-900_i32)),
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryHigh", Variant::new(memory)),
        ]
    } else {
        vec![
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryMax", Variant::new(memory)),
            // systemd counts processor time in microseconds a second.
            (
                "CPUQuotaPerSecUSec",
                Variant::new(u64::from(limits.cpu_percent) * 10_000),
            ),
            ("IOWeight", Variant::new(u64::from(limits.io_weight))),
        ]
    };
    // A oneshot's work is its start, and RuntimeMaxUSec does not hold for it (systemd.service(5)).
    caps.push(("TimeoutStartUSec", Variant::new(time)));
    caps.retain(|(_, value)| *value != Variant::new(0_u64));
    caps
}

#[cfg(test)]
mod tests;

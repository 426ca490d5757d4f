//! The properties of the transient unit of one careen-control run.

use std::path::Path;

use systemd::{Property, Variant};

use super::run::Run;

/// The most memory of a run, in bytes. kubeadm has a soft limit instead.
const MEMORY: u64 = 512 * 1024 * 1024;

/// One second in microseconds.
const SECOND: u64 = 1_000_000;

/// How long a raise may take to stop, in microseconds: half an hour. A reboot waits for kubeadm.
const PATIENCE: u64 = 1800 * SECOND;

/// The unit's properties.
#[must_use]
pub fn properties<'a>(program: &Path, run: &Run, output: &Path) -> Vec<Property<'a>> {
    let program = program.display().to_string();
    let argv: Vec<String> = std::iter::once(program.clone())
        .chain(run.arguments.clone())
        .collect();
    let mut properties = vec![
        (
            "Description",
            Variant::new(format!("Careen: {} of the control plane", run.task.verb())),
        ),
        ("Type", Variant::new("oneshot")),
        ("CollectMode", Variant::new("inactive-or-failed")),
        ("ExecStart", Variant::new(vec![(program, argv, false)])),
        // The agent removes an old file.
        (
            "StandardOutputFileToAppend",
            Variant::new(output.display().to_string()),
        ),
        ("StandardError", Variant::new("journal")),
        // The answer names members and versions of the cluster.
        ("UMask", Variant::new(0o077_u32)),
    ];
    properties.extend(caps(run));
    properties
}

fn caps(run: &Run) -> Vec<Property<'static>> {
    if run.is_raise() {
        return vec![
            // kubeadm goes on when careen-control is stopped.
            ("KillMode", Variant::new("process")),
            ("TimeoutStopUSec", Variant::new(PATIENCE)),
            ("OOMScoreAdjust", Variant::new(-900_i32)),
            ("MemoryHigh", Variant::new(MEMORY)),
        ];
    }
    vec![
        ("TimeoutStartUSec", Variant::new(run.seconds * SECOND)),
        ("MemoryMax", Variant::new(MEMORY)),
    ]
}

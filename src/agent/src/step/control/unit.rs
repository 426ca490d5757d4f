//! The properties of the transient unit of one careen-control run.

use std::path::Path;

use systemd::{Property, Variant};

use super::super::oneshot::{self, SECOND};
use super::run::Run;

/// The most memory of a run, in bytes. kubeadm has a soft limit instead.
const MEMORY: u64 = 512 * 1024 * 1024;

/// How long a raise may take to stop, in microseconds: half an hour. A reboot waits for kubeadm.
const PATIENCE: u64 = 1800 * SECOND;

/// The unit's properties.
#[must_use]
pub fn properties(program: &Path, run: &Run, output: &Path) -> Vec<Property<'static>> {
    let description = format!("Careen: {} of the control plane", run.task.verb());
    let mut properties = oneshot::properties(description, program, &run.arguments, output);
    // The answer names members and versions of the cluster.
    properties.push(("UMask", Variant::new(0o077_u32)));
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

//! The properties of a transient unit that runs one verb of a program and ends.

use std::path::Path;

use systemd::{Property, Variant};

/// One second in microseconds.
pub const SECOND: u64 = 1_000_000;

/// The unit's own properties, without its limits.
pub fn properties(
    description: String,
    program: &Path,
    arguments: &[String],
    output: &Path,
) -> Vec<Property<'static>> {
    let program = program.display().to_string();
    let argv = [&[program.clone()][..], arguments].concat();
    vec![
        ("Description", Variant::new(description)),
        // A oneshot's start job ends when its work does, and the agent waits for that signal.
        ("Type", Variant::new("oneshot")),
        ("CollectMode", Variant::new("inactive-or-failed")),
        ("ExecStart", Variant::new(vec![(program, argv, false)])),
        // Append: systemd reopens the file for ExecStopPost, and truncation would delete the
        // answer. The agent removes an old file.
        (
            "StandardOutputFileToAppend",
            Variant::new(output.display().to_string()),
        ),
        ("StandardError", Variant::new("journal")),
    ]
}

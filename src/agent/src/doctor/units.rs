//! The units that guard a trial are there: an image that lacks one would not be guarded by it.

use upgrade::names::{self, Kind};

use super::{Finding, Patient};

/// Where units lie, the administrator's first.
const FOLDERS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    // What a DaemonSet's pod has installed where the image has none.
    "run/systemd/generator.late",
];

/// The units that an image brings for the system itself; those of the initramfs lie in there.
fn wanted() -> impl Iterator<Item = &'static str> {
    let ours = names::TABLE
        .iter()
        .filter(|row| row.kind == Kind::Unit && row.writer == "image");
    ours.filter(|row| !row.values.starts_with("in the initramfs"))
        .map(|row| row.name)
}

/// All of them are there.
pub(super) fn units(patient: &Patient) -> Finding {
    const NAME: &str = "units";
    let root = &patient.places.root;
    let is_there = |unit: &&str| {
        FOLDERS
            .iter()
            .any(|folder| root.join(folder).join(unit).is_file())
    };
    let missing: Vec<_> = wanted().filter(|unit| !is_there(unit)).collect();
    if missing.is_empty() {
        return Finding::ok(NAME, format!("all {} are there", wanted().count()));
    }
    Finding::bad(
        NAME,
        format!("missing: {}", missing.join(", ")),
        "put systemd/system of Careen into the image's /usr/lib/systemd/system and run systemctl preset-all there",
    )
}

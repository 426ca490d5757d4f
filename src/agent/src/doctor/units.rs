//! Whether the units that guard a trial exist and are enabled. A system that lacks one would not
//! have its protection.

use std::fs;
use std::path::{Path, PathBuf};

use host::{Places, control_plane};
use upgrade::names::{self, Kind};

use super::finding::Finding;
use super::patient::Patient;

/// The folders of units, the administrator's first.
const FOLDERS: [&str; 5] = [
    "etc/systemd/system",
    "run/systemd/system",
    "usr/local/lib/systemd/system",
    "usr/lib/systemd/system",
    // The units that a DaemonSet's pod installed because the image has none.
    "run/systemd/generator.late",
];

/// The units that an image has for the system itself. The units of the initramfs are in the
/// initramfs. A worker does without the repair of static pods, which an older image lacks.
fn wanted(places: &Places) -> impl Iterator<Item = &'static str> {
    let repairs = control_plane::is_here(places);
    let ours = names::TABLE
        .iter()
        .filter(|row| row.kind == Kind::Unit && row.writer == "image");
    ours.filter(|row| !row.values.starts_with("in the initramfs"))
        .map(|row| row.name)
        .filter(move |name| repairs || *name != names::REPAIR_UNIT)
}

/// Whether all of them exist, and systemd pulls each in as its [Install] section requests.
pub(super) fn units(patient: &Patient) -> Finding {
    const NAME: &str = "units";
    let root = &patient.places.root;
    let wanted = || wanted(&patient.places);
    let amiss =
        |asked: State| -> Vec<_> { wanted().filter(|unit| state(root, unit) == asked).collect() };
    let (missing, masked, disabled) = (
        amiss(State::Missing),
        amiss(State::Masked),
        amiss(State::Disabled),
    );
    if !missing.is_empty() {
        return Finding::bad(
            NAME,
            format!("missing: {}", missing.join(", ")),
            "put Careen's units into the image's /usr/lib/systemd/system, and run systemctl preset-all there",
        );
    }
    if !masked.is_empty() {
        let masked = masked.join(" ");
        let fix = format!("systemctl unmask {masked}");
        return Finding::bad(NAME, format!("masked: {masked}"), &fix);
    }
    if !disabled.is_empty() {
        let disabled = disabled.join(" ");
        let fix = format!("systemctl enable {disabled}, here and in the image");
        let seen = format!("present but not enabled, so that no boot starts them: {disabled}");
        return Finding::bad(NAME, seen, &fix);
    }
    Finding::ok(
        NAME,
        format!("all {} are present and enabled", wanted().count()),
    )
}

/// The state of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// As it must be.
    Enabled,
    /// A target that should pull it in does not.
    Disabled,
    /// An administrator has masked it.
    Masked,
    /// It does not exist.
    Missing,
}

fn state(root: &Path, unit: &str) -> State {
    let places = FOLDERS.map(|folder| root.join(folder).join(unit));
    let is_masked =
        |place: &PathBuf| fs::read_link(place).is_ok_and(|to| to == Path::new("/dev/null"));
    // The first existing file applies, as with systemd.
    match places
        .iter()
        .find(|place| place.is_file() || is_masked(place))
    {
        None => State::Missing,
        Some(place) if is_masked(place) => State::Masked,
        Some(place) => {
            let text = fs::read_to_string(place).unwrap_or_default();
            match pulled_in_by(&text).all(|folder| is_linked(root, &folder, unit)) {
                true => State::Enabled,
                false => State::Disabled,
            }
        }
    }
}

/// The folders in which its [Install] section requests a link.
fn pulled_in_by(text: &str) -> impl Iterator<Item = String> {
    let kinds = [("WantedBy=", "wants"), ("RequiredBy=", "requires")];
    kinds.into_iter().flat_map(move |(setting, kind)| {
        let lines = text
            .lines()
            .filter_map(move |line| line.strip_prefix(setting));
        let targets = lines.flat_map(str::split_whitespace);
        targets.map(move |target| format!("{target}.{kind}"))
    })
}

/// A link into an image that is examined from outside is dangling, and counts nevertheless.
fn is_linked(root: &Path, folder: &str, unit: &str) -> bool {
    let links = FOLDERS.map(|at| root.join(at).join(folder).join(unit));
    links.iter().any(|link| link.is_symlink() || link.exists())
}

//! Commands for advice, in full and as they work on this node: a shell there finds none of our programs by name, and libostree
//! calls the distribution's generator of grub.cfg unless it is told of ours.

use std::path::Path;

use host::loader::Loader;
use upgrade::names;

use super::Patient;

/// Where an image has our programs.
const IMAGE: &str = "/usr/libexec/careen";

/// The full path of one of our programs: the image's, or where that has none the one that a DaemonSet has brought.
pub(super) fn program(patient: &Patient, name: &str) -> String {
    let brought = format!("{}/proven", names::AGENTS_DIR);
    let folder = match lies(patient, &brought, name) && !lies(patient, IMAGE, name) {
        true => &brought,
        false => IMAGE,
    };
    format!("{folder}/{name}")
}

fn lies(patient: &Patient, folder: &str, name: &str) -> bool {
    let below = Path::new(folder.trim_start_matches('/')).join(name);
    patient.places.root.join(below).is_file()
}

/// Makes the deployment at this position the default. Without the variable libostree runs
/// grub-mkconfig.
pub(super) fn set_default(patient: &Patient, position: usize) -> String {
    let command = format!("ostree admin set-default {position}");
    match Loader::of(&patient.places) {
        Loader::StockGrub => command,
        Loader::CareenGrub => {
            let generator = program(patient, "careen-grub");
            format!("{}={generator} {command}", names::GENERATOR_VARIABLE)
        }
    }
}

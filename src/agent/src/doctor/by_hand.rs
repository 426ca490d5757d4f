//! Commands for advice, in full and as they work on this node. A shell there finds none of Careen's
//! programs by name, and libostree calls the distribution's generator of grub.cfg unless a variable
//! names Careen's.

use std::path::Path;

use host::loader::Loader;
use upgrade::names;

use super::patient::Patient;

/// The folder of Careen's programs in an image.
const IMAGE: &str = "/usr/libexec/careen";

/// The full path of one of Careen's programs: the image's, or if the image has none, the one that a
/// DaemonSet installed.
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

//! The running system: whether it is a deployment, the default, and made for Careen.

use upgrade::{Deployment, names};

use super::by_hand;
use super::finding::Finding;
use super::patient::Patient;

/// Whether the running system is an OSTree deployment, and the one that the next reboot starts.
pub(super) fn system(patient: &Patient, booted: host::Result<Deployment>) -> Finding {
    const NAME: &str = "system";
    let booted = match booted {
        Ok(booted) => booted,
        Err(error) => {
            return Finding::bad(
                NAME,
                error.to_string(),
                "boot a system that OSTree deployed: Careen upgrades no others",
            );
        }
    };
    let short = booted.digest.short();
    match host::boot::default_first(&patient.places) {
        Err(error) => Finding::bad(
            NAME,
            error.to_string(),
            "mount /boot; repair a damaged entry in /boot/loader/entries (compare it with the others), until `ostree admin status` lists every deployment again",
        ),
        Ok(all) => match all.iter().position(|one| one.same(&booted)) {
            Some(0) => Finding::ok(
                NAME,
                format!(
                    "deployment {short} runs and is the default of {}",
                    all.len()
                ),
            ),
            Some(position) => Finding::bad(
                NAME,
                format!("deployment {short} runs and is not the default"),
                &format!(
                    "boot the default, or make this one the default: {}",
                    by_hand::set_default(patient, position)
                ),
            ),
            None => Finding::bad(
                NAME,
                format!("deployment {short} runs and is not in the boot menu"),
                "boot the default",
            ),
        },
    }
}

/// Whether the image says what it is.
pub(super) fn image(patient: &Patient) -> Finding {
    const NAME: &str = "image";
    match host::image_info::read(&patient.places.root) {
        Ok(info) => Finding::ok(
            NAME,
            format!("Kubernetes {} for {}", info.kubernetes, info.architecture),
        ),
        Err(error) => Finding::warn(
            NAME,
            error.to_string(),
            &format!(
                "this system was not built for Careen, so a rollback to it would be refused; images need /{}",
                names::IMAGE_INFO
            ),
        ),
    }
}

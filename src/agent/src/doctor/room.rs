//! Room for the next system: a kernel on /boot, an image on root.

use std::collections::HashSet;

use host::{boot, room};
use upgrade::Deployment;

use super::by_hand;
use super::finding::Finding;
use super::patient::Patient;

const MIB: u64 = 1 << 20;

/// What careen-deploy leaves free on /boot for entries and grub.cfg.
const BOOT_MARGIN: u64 = 2 * MIB;

/// What careen-deploy leaves free on root.
const ROOT_MARGIN: u64 = 32 * MIB;

/// An image has some hundreds of megabytes that the node does not have yet.
const ROOT_COMFORT: u64 = 1024 * MIB;

/// Whether /boot has room for a kernel as large as the current one. If it does not, the kept
/// deployment's kernel is removed first.
pub(super) fn boot(patient: &Patient, booted: Option<&Deployment>) -> Finding {
    const NAME: &str = "boot-room";
    let places = &patient.places;
    let Some(booted) = booted else {
        return Finding::warn(
            NAME,
            "the running kernel is unknown, so the room for the next one is unknown too",
            "see the check `system`",
        );
    };
    match (room::free(&places.boot), room::kernel(places, booted)) {
        (Ok(free), Ok(kernel)) => judge_boot(free, kernel, others(patient, booted)),
        (Err(error), _) | (_, Err(error)) => Finding::bad(NAME, error.to_string(), "mount /boot"),
    }
}

/// How many other kernels are there that a new one may replace.
fn others(patient: &Patient, booted: &Deployment) -> usize {
    let all = boot::default_first(&patient.places).unwrap_or_default();
    let kernels: HashSet<_> = all.into_iter().skip(1).map(|one| one.bootcsum).collect();
    let other = |kernel: &&String| **kernel != booted.bootcsum;
    kernels.iter().filter(other).count()
}

fn judge_boot(free: u64, kernel: u64, spare: usize) -> Finding {
    const NAME: &str = "boot-room";
    let need = kernel + BOOT_MARGIN;
    let seen = format!(
        "{} MiB free on /boot, a kernel like the present one takes {}",
        free / MIB,
        need.div_ceil(MIB)
    );
    if free >= need {
        Finding::ok(NAME, seen)
    } else if spare > 0 {
        Finding::warn(
            NAME,
            seen,
            "make /boot larger to keep three systems: the kept system is removed before the new one is deployed",
        )
    } else {
        Finding::bad(
            NAME,
            seen,
            "remove other files from /boot, or make it larger: it should hold three kernels",
        )
    }
}

/// Whether root has room for an image.
pub(super) fn root(patient: &Patient) -> Finding {
    const NAME: &str = "root-room";
    match room::free(&patient.places.sysroot) {
        Ok(free) => judge_root(free, &by_hand::program(patient, "careen-deploy")),
        Err(error) => Finding::bad(NAME, error.to_string(), "mount /sysroot"),
    }
}

/// During an upgrade nothing needs its deployment yet, so `clean` would remove it.
fn judge_root(free: u64, deploy: &str) -> Finding {
    const NAME: &str = "root-room";
    let seen = format!("{} MiB free on the physical root", free / MIB);
    let fix = format!(
        "make room: run {deploy} clean (while no upgrade is under way), remove old logs and container images; an image takes the room of its new files"
    );
    if free < ROOT_MARGIN {
        Finding::bad(NAME, seen, &fix)
    } else if free < ROOT_COMFORT {
        Finding::warn(NAME, seen, &fix)
    } else {
        Finding::ok(NAME, seen)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Verdict::{Bad, Ok, Warn};
    use super::*;

    #[test]
    fn a_full_boot_is_bad_unless_the_kept_kernel_can_go() {
        let found = [(60, 0), (10, 1), (10, 0)]
            .map(|(free, spare)| judge_boot(free * MIB, 50 * MIB, spare).verdict);
        assert_eq!(found, [Ok, Warn, Bad]);
    }

    #[test]
    fn a_full_root_is_bad_and_a_narrow_one_worth_a_look() {
        let found = [4096, 500, 10].map(|free| judge_root(free * MIB, "/x/careen-deploy"));
        assert_eq!(found.each_ref().map(|one| one.verdict), [Ok, Warn, Bad]);
        let [_, narrow, full] = found;
        assert!(
            narrow
                .fix
                .contains("run /x/careen-deploy clean (while no upgrade")
        );
        assert_eq!(narrow.fix, full.fix);
    }
}

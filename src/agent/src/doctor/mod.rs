//! `careen-agent doctor`: checks everything that a node needs before its first upgrade, and changes
//! nothing without `--fix`.
//!
//! Each check is a function from observations to a [`Finding`]. It judges by the same code that
//! would refuse the upgrade later. No check writes, and a check that cannot look reports that
//! instead of failing.

mod by_hand;
mod clock;
mod control_plane;
mod cpio;
mod credential;
mod finding;
mod image;
mod initramfs;
pub(crate) mod keyfile;
mod limits;
mod loader;
mod patient;
mod programs;
mod registry;
mod remotes;
mod render;
mod room;
mod server;
mod services;
mod settings;
mod share;
mod units;
mod verity;
mod watchdog;

use host::record::Store;
use upgrade::decide::RecordRead;
use upgrade::{Deployment, Policy};

pub use finding::{Finding, Verdict};
pub use patient::{Clock, Patient};
pub use render::{exit_code, json, text};
pub use server::server;
pub use share::{Share, Shared, Systemd, told};

use crate::policy_file;

/// Data that several checks need.
struct Known {
    policy: Policy,
    booted: Option<Deployment>,
}

/// Every check that needs no network, in the order in which an upgrade would reach them.
#[must_use]
pub fn examine(patient: &Patient) -> Vec<Finding> {
    let read = policy_file::read(&patient.policy);
    let booted = host::boot::booted(&patient.places.sysroot, &patient.places.root);
    let known = Known {
        policy: read.clone().unwrap_or_default(),
        booted: booted
            .as_ref()
            .ok()
            .map(|(deployment, _)| deployment.clone()),
    };
    let mut findings = settings::policy(patient, &read);
    findings.extend([
        settings::record(&record(patient)),
        settings::kubelet_state(patient),
        image::system(patient, booted.map(|(deployment, _)| deployment)),
        image::image(patient),
        control_plane::worker(patient, &known.policy),
        units::units(patient),
        loader::loader(patient),
        room::boot(patient, known.booted.as_ref()),
        room::root(patient),
        initramfs::stage(patient, known.booted.as_ref()),
        verity::verity(patient),
    ]);
    findings.extend(control_plane::folder(patient, known.booted.as_ref()));
    let booted = known.booted.as_ref();
    findings.extend(settings::local_changes(patient, &known.policy, booted));
    findings.extend(settings::opt_out(patient, &known.policy));
    findings.extend(remotes::remotes(patient, &known.policy));
    findings.extend(registry::registry(patient, &known.policy));
    findings.extend(programs::programs(patient));
    findings.extend(services::services(patient));
    findings.push(credential::credential(patient));
    findings.push(clock::clock(patient.clock));
    findings.push(limits::limits(patient, &known.policy));
    findings.push(watchdog::watchdog(patient, &known.policy));
    findings
}

fn record(patient: &Patient) -> RecordRead {
    Store::new(&patient.places.sysroot).read()
}

#[cfg(test)]
mod tests;

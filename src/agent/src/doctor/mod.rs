//! `careen-agent doctor`: checks everything that a node needs before its first upgrade, and changes
//! nothing.
//!
//! Each check is a function from observations to a [`Finding`]. It judges by the same code that
//! would refuse the upgrade later. Nothing here writes, and a check that cannot look reports that
//! instead of failing.

mod by_hand;
mod clock;
mod cpio;
mod credential;
mod image;
mod initramfs;
pub(crate) mod keyfile;
mod limits;
mod loader;
mod programs;
mod registry;
mod remotes;
mod render;
mod room;
mod server;
mod services;
mod settings;
mod units;
mod verity;
mod watchdog;

use std::path::PathBuf;

use host::Places;
use host::journal::Store;
use serde::Serialize;
use upgrade::decide::RecordRead;
use upgrade::{Deployment, Policy};

pub use render::{exit_code, json, text};
pub use server::server;

use crate::in_force;
use crate::limits::Measured;

/// The verdict of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// As it must be.
    Ok,
    /// An upgrade works, but something is worse than it could be, or could not be checked.
    Warn,
    /// An upgrade would be refused, or could not be trusted.
    Bad,
}

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The name of the check.
    pub name: &'static str,
    /// How it is.
    pub verdict: Verdict,
    /// What the check found.
    pub found: String,
    /// How to fix it, or empty if there is nothing to fix.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fix: String,
}

impl Finding {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, found.into(), "")
    }

    fn warn(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self::new(name, Verdict::Warn, found.into(), fix)
    }

    fn bad(name: &'static str, found: impl Into<String>, fix: &str) -> Self {
        Self::new(name, Verdict::Bad, found.into(), fix)
    }

    fn new(name: &'static str, verdict: Verdict, found: String, fix: &str) -> Self {
        let fix = fix.to_owned();
        Self {
            name,
            verdict,
            found,
            fix,
        }
    }
}

/// The node that the doctor examines.
#[derive(Clone, Debug)]
pub struct Patient {
    /// Its folders.
    pub places: Places,
    /// The folder that holds `sys` and `proc`: `/` on a node.
    pub kernel: PathBuf,
    /// The kubelet's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The policy file.
    pub policy: PathBuf,
    /// Its clock.
    pub clock: Clock,
    /// How long its boots and shutdowns take.
    pub measured: Measured,
}

/// The state of its clock.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// Seconds since 1970.
    pub wall: u64,
    /// Whether a program synchronizes it, or `None` if the kernel does not say.
    pub in_step: Option<bool>,
}

/// Data that several checks need.
struct Known {
    policy: Policy,
    booted: Option<Deployment>,
}

/// Every check that needs no network, in the order in which an upgrade would reach them.
#[must_use]
pub fn examine(patient: &Patient) -> Vec<Finding> {
    let read = in_force::read(&patient.policy);
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
        image::control_plane(patient),
        units::units(patient),
        loader::loader(patient),
        room::boot(patient, known.booted.as_ref()),
        room::root(patient),
        initramfs::stage(patient, known.booted.as_ref()),
        verity::verity(patient),
    ]);
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

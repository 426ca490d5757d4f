//! Units of systemd that do not run.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::lack::Lack;
use crate::cause::Cause;
use crate::policy::{Demand, Serving};

/// What systemd says of its units.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Units {
    /// A job that the boot still waits for, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub starting: Option<String>,
    /// The units that failed, or that systemd starts again and again.
    pub down: Vec<Down>,
    /// Before the drain: the active mounts, swaps and services that each boot starts. In the trial:
    /// those of them that are active. `None` in a note of an older agent, or if systemd did not
    /// tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active: Option<BTreeSet<String>>,
}

/// A unit that does not run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Down {
    /// Its name.
    pub name: String,
    /// Why, in systemd's words: `exit-code`, `timeout`, `resources` and so on (systemd.exec(5),
    /// `$SERVICE_RESULT`), with the exit status.
    pub why: String,
    /// Where the cause is.
    pub cause: Cause,
    /// Only a timer starts it. An older agent does not say so.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub timed: bool,
}

impl Default for Down {
    /// A unit of which nothing is known.
    fn default() -> Self {
        Self {
            name: String::new(),
            why: String::new(),
            cause: Cause::Unclear,
            timed: false,
        }
    }
}

/// The units that are down and were not before the drain, and a boot that does not end, and how the
/// policy rates each. A trial sees a job of a timer fail only if its hour falls into the trial: it
/// may ask a server for its data, and the old system might have failed at it too.
#[must_use]
pub fn failed(before: &Units, now: &Units, policy: &Serving) -> Vec<(Demand, Lack)> {
    let was_down = |unit: &Down| before.down.iter().any(|was| was.name == unit.name);
    let fresh = now.down.iter().filter(|unit| !was_down(unit));
    let down = fresh.map(|unit| {
        let rated = match unit.timed {
            true => policy.units.at_most_warn(),
            false => policy.units,
        };
        let key = format!("unit:{}", unit.name);
        (rated, Lack::new(key, told(unit), unit.cause))
    });
    let waits = now.starting.iter().filter(|_| before.starting.is_none());
    let waits = waits.map(|job| {
        let what = format!("the boot does not end: systemd still waits for {job}");
        let lack = Lack::new(format!("unit:{job}"), what, Cause::Unclear);
        (policy.units, lack)
    });
    down.chain(waits).collect()
}

/// The mounts, swaps and services that were active before the drain and are not, and how the policy
/// rates each. A unit that is down is told as such. A disk, a server of the network or an operator
/// may be the cause, as well as the image.
#[must_use]
pub fn inactive(before: &Units, now: &Units, policy: &Serving) -> Vec<(Demand, Lack)> {
    let (Some(was), Some(is)) = (&before.active, &now.active) else {
        return Vec::new();
    };
    let is_down = |name: &&String| now.down.iter().any(|unit| unit.name == **name);
    let missing = was.difference(is).filter(|name| !is_down(name));
    missing
        .map(|name| {
            let (rated, kind) = rating(name, policy);
            let what = format!("{kind} {name} was active before the drain and is not");
            let key = format!("unit:{name}");
            (rated, Lack::new(key, what, Cause::Unclear))
        })
        .collect()
}

fn rating(name: &str, policy: &Serving) -> (Demand, &'static str) {
    match name.rsplit('.').next() {
        Some("mount") => (policy.mounts, "mount"),
        Some("swap") => (policy.mounts, "swap"),
        Some(_) | None => (policy.services, "unit"),
    }
}

fn told(unit: &Down) -> String {
    let why = if unit.why.is_empty() {
        String::new()
    } else {
        format!(" ({})", unit.why)
    };
    let name = &unit.name;
    let of = if unit.timed { " of a timer" } else { "" };
    format!("unit {name}{of} fails and did not before the drain{why}")
}

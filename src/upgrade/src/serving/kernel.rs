//! What pods and their volumes need of the kernel. Its modules are loaded when the first pod asks
//! for them, so a Node without them is Ready.

use std::collections::BTreeSet;

use super::lack::{Lack, gone, named};
use crate::cause::Cause;
use crate::policy::{Demand, Serving};

/// The begin of the name of a file system of a pod's volume.
pub const FILE_SYSTEM: &str = "filesystem/";

/// The begin of the name of a module that was loaded.
pub const MODULE: &str = "module/";

/// What was in use before the drain and the new kernel neither has nor can load, and how the policy
/// rates each. Without its file system no volume is mounted. A module may have another name in a
/// new kernel, or a pod may bring it.
#[must_use]
pub fn unsupported(
    before: Option<&BTreeSet<String>>,
    now: Option<&BTreeSet<String>>,
    policy: &Serving,
) -> Vec<(Demand, Lack)> {
    let all = gone(before, now, |name| (policy.system, told(name)));
    let (modules, mut lacks): (Vec<_>, Vec<_>) = all
        .into_iter()
        .filter(|(_, lack)| !policy.excepts(&lack.key))
        .partition(|(_, lack)| module(&lack.key).is_some());
    let names: Vec<_> = modules
        .iter()
        .filter_map(|(_, lack)| module(&lack.key))
        .collect();
    lacks.extend(lost(&names).map(|lack| (policy.system.at_most_warn(), lack)));
    lacks
}

fn module(key: &str) -> Option<&str> {
    key.strip_prefix("system:")?.strip_prefix(MODULE)
}

/// One sentence: a kernel that is built in another way lacks many of them.
fn lost(modules: &[&str]) -> Option<Lack> {
    let first = modules.first()?;
    let what = format!(
        "the kernel had {} among its loaded modules before the drain and can load no such module",
        named(modules)
    );
    let key = format!("system:{MODULE}{first}");
    Some(Lack::new(key, what, Cause::Unclear))
}

fn told(name: &str) -> String {
    let kind = name.trim_start_matches(FILE_SYSTEM);
    format!(
        "volumes of pods had the file system {kind} before the drain, and the kernel has none of that name"
    )
}

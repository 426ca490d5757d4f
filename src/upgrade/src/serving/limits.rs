//! What a container gets at most: limits of the runtime's unit, which each container inherits, and
//! sysctls. A Node is Ready with any of them, and programs in pods crash with too little.

use std::collections::BTreeMap;

use super::lack::Lack;
use super::settings::SYSCTL;
use crate::cause::Cause;
use crate::policy::{Demand, Serving};

/// The begin of the name of a limit of the runtime's unit.
pub const LIMIT: &str = "limit/";

/// Open files, as systemd names the hard and the soft limit.
pub const OPEN_FILES: [&str; 2] = ["LimitNOFILE", "LimitNOFILESoft"];

/// The sysctls that programs in pods need a large number of.
pub const AMOUNTS: [&str; 5] = [
    "fs.aio-max-nr",
    "fs.inotify.max_user_instances",
    "fs.inotify.max_user_watches",
    "kernel.pid_max",
    "vm.max_map_count",
];

/// With fewer open files, databases and proxies do not start (Elasticsearch's bootstrap checks ask
/// for so many). systemd's own default is 524288, and 1024 for the soft limit
/// (awslabs/amazon-eks-ami, issue 1551).
const ENOUGH_FILES: u64 = 65_535;

/// Which number each limit and each sysctl has.
pub type Limits = BTreeMap<String, u64>;

/// What is less than before the drain, and how the policy rates each. The node's own files, or a
/// pod that raised a sysctl and has moved, may be the reason, so no image is to blame.
#[must_use]
pub fn shrunk(
    before: Option<&Limits>,
    now: Option<&Limits>,
    policy: &Serving,
) -> Vec<(Demand, Lack)> {
    let (Some(before), Some(now)) = (before, now) else {
        return Vec::new();
    };
    let both = before
        .iter()
        .filter_map(|(name, was)| Some((name, *was, *now.get(name)?)));
    let less = both.filter(|(_, was, is)| is_less(*was, *is));
    less.map(|(name, was, is)| {
        let what = told(name, was, is);
        let lack = Lack::new(format!("system:{name}"), what, Cause::Unclear);
        (rating(name, is, policy), lack)
    })
    .collect()
}

/// The kernel and systemd derive some of them from the memory, of which a new kernel keeps a little
/// more or less for itself.
const fn is_less(was: u64, is: u64) -> bool {
    is < was - was / 20
}

fn rating(name: &str, is: u64, policy: &Serving) -> Demand {
    match name.strip_prefix(LIMIT) {
        Some(limit) if OPEN_FILES.contains(&limit) && is < ENOUGH_FILES => policy.system,
        Some(_) | None => policy.system.at_most_warn(),
    }
}

fn told(name: &str, was: u64, is: u64) -> String {
    let (was, is) = (number(was), number(is));
    match name.strip_prefix(LIMIT) {
        Some(limit) => {
            format!("containers had {limit}={was} before the drain and have {is}")
        }
        None => {
            let name = name.trim_start_matches(SYSCTL);
            format!("{name} was {was} before the drain and is {is}")
        }
    }
}

/// In systemd's words.
fn number(limit: u64) -> String {
    match limit {
        u64::MAX => "infinity".to_owned(),
        limit => limit.to_string(),
    }
}

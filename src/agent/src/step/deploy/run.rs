//! One run of careen-deploy: its arguments, and how long it may take.

use upgrade::plan::Look;
use upgrade::{ContainerImage, Deployment, Digest, Policy, Reason, Source, Target};

use crate::task::Verb;

/// The verb that undoes an upgrade.
pub const UNDO: &str = "undo";

/// How long a unit that must not be killed may take to stop, in microseconds: half an hour. It
/// ignores the request while it is inside libostree's swap. What still runs after that hangs, and
/// systemd kills it, including libostree's own child that would thaw /boot. `ExecStopPost` then
/// thaws /boot.
const PATIENCE: u64 = 1_800_000_000;

/// How long a unit that may be killed may take to stop, in microseconds.
const IMPATIENCE: u64 = 10_000_000;

/// One run of careen-deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The verb, for messages.
    pub verb: &'static str,
    /// The arguments after the program's name.
    pub arguments: Vec<String>,
    /// Whether libostree swaps boot entries in the run, with the file system of /boot frozen. A
    /// kill could then hang the node.
    pub swaps: bool,
    /// How long the run may take, in seconds, or `None` for a fetch, whose limit the policy sets.
    pub seconds: Option<u64>,
    /// How long the run may take to stop, in microseconds.
    pub patience: u64,
}

/// How long each verb may take in addition to the wait for the lock, in seconds. The limits are far
/// above the time that the slowest disk needs. So if something hangs (a disk, a program that
/// libostree waits for), the step fails and is retried or given up.
mod longest {
    /// Reads all of the image, with a share of the processor.
    pub const VERIFY: u64 = 6 * 3600;
    /// Writes all of it.
    pub const DEPLOY: u64 = 2 * 3600;
    /// Writes a menu. careen-deploy ends a menu generator that hangs after ten minutes. Nothing
    /// else ends a healthy trial, and its node is cordoned.
    pub const BLESS: u64 = 900;
    /// Writes a menu in a failed system, and waits for the lock. A reboot follows in any case.
    pub const REINSTATE: u64 = 60;
    /// Reads the names of all objects and removes many: `undo` and `clean`.
    pub const PRUNE: u64 = 1800;
}

impl Run {
    /// Adds the time that a fetch may take.
    fn timed(self, policy: &Policy) -> Self {
        let limit = policy.limits.fetch_seconds;
        Self {
            seconds: (limit > 0).then_some(limit),
            ..self
        }
    }

    /// The reason for a run that ended without a verdict. A stopped run cannot report what stopped
    /// it, and systemd has then already forgotten the unit.
    #[must_use]
    pub fn with_its_time(&self, mut reason: Reason) -> Reason {
        if let Reason::DeployDied { detail, .. } = &mut reason
            && let Some(seconds) = self.seconds
        {
            let whose = match self.verb {
                "fetch" | "plan" => "limits.fetch-seconds = ",
                _ => "",
            };
            detail.push_str(&format!("; its limit is {whose}{seconds} s"));
        }
        reason
    }
}

/// The id in the unit name of the run for a plan. It is fixed, because only one such run exists at
/// a time, and a run that needs the repository ends it by name.
pub const PLAN_ID: &str = "dry";

/// The run that looks at an image for a plan.
#[must_use]
pub fn plan(look: &Look, policy: &Policy) -> Run {
    let command = match &look.target.source {
        Source::Remote(_) => "plan",
        Source::Container(_) => "plan-image",
    };
    let more = image(&look.target, policy);
    run_of("plan", call(command, policy, more), false).timed(policy)
}

/// The run of a verb.
#[must_use]
pub fn run(verb: &Verb, policy: &Policy) -> Run {
    match verb {
        Verb::Fetch { target } => fetch(target, policy),
        Verb::Verify { commit } => Run {
            swaps: false,
            patience: IMPATIENCE,
            ..bounded("verify", of(commit), longest::VERIFY, policy)
        },
        Verb::Deploy { commit, image } => {
            let signed = image.as_ref().map(|image| signature(image, policy));
            let more = [of(commit), signed.unwrap_or_default()].concat();
            bounded("deploy", more, longest::DEPLOY, policy)
        }
        Verb::Bless { commit, over } => {
            let more = [of(commit), instead(over.as_ref())].concat();
            bounded("bless", more, longest::BLESS, policy)
        }
        Verb::Reinstate { deployment, over } => reinstate(deployment, over),
        // A fetch that was interrupted may have named no commit.
        Verb::Undo { commit } => {
            let more = commit.as_ref().map_or_else(Vec::new, of);
            bounded(UNDO, more, longest::PRUNE, policy)
        }
        Verb::Clean => bounded("clean", Vec::new(), longest::PRUNE, policy),
    }
}

/// A run that swaps boot entries and may take this many seconds in addition to the wait for the
/// lock.
fn bounded(verb: &'static str, more: Vec<String>, seconds: u64, policy: &Policy) -> Run {
    Run {
        seconds: Some(seconds.saturating_add(policy.limits.lock_seconds)),
        ..run_of(verb, call(verb, policy, more), true)
    }
}

fn of(commit: &Digest) -> Vec<String> {
    pairs(&[("--commit", commit.as_str())])
}

/// The arguments by which a deployment verifies the signature again. Since the fetch, a key may
/// have been removed, or the policy may be stricter.
fn signature(image: &Target, policy: &Policy) -> Vec<String> {
    let mut arguments = match &image.source {
        Source::Remote(branch) => pairs(&[("--remote", branch.remote.as_str())]),
        Source::Container(image) => container(image, policy),
    };
    arguments.extend(unsigned(policy));
    arguments
}

/// The default that the blessing expects to find, if any.
fn instead(over: Option<&Deployment>) -> Vec<String> {
    let over = over.map(name_of);
    over.map_or_else(Vec::new, |over| pairs(&[("--over", over.as_str())]))
}

/// systemd kills this run if it hangs, because a reboot leaves this system anyway.
fn reinstate(deployment: &Deployment, over: &Deployment) -> Run {
    let (deployment, over) = (name_of(deployment), name_of(over));
    let verb = "reinstate";
    let mut arguments = vec![verb.to_owned()];
    arguments.extend(pairs(&[
        ("--lock-seconds", "30"),
        ("--deployment", deployment.as_str()),
        ("--over", over.as_str()),
    ]));
    Run {
        seconds: Some(longest::REINSTATE),
        patience: IMPATIENCE,
        ..run_of(verb, arguments, true)
    }
}

fn name_of(one: &Deployment) -> String {
    format!("{}.{}", one.digest, one.serial)
}

const fn run_of(verb: &'static str, arguments: Vec<String>, swaps: bool) -> Run {
    Run {
        verb,
        arguments,
        swaps,
        seconds: None,
        patience: if swaps { PATIENCE } else { IMPATIENCE },
    }
}

fn call(command: &str, policy: &Policy, more: Vec<String>) -> Vec<String> {
    let lock = [
        "--lock-seconds".to_owned(),
        policy.limits.lock_seconds.to_string(),
    ];
    std::iter::once(command.to_owned())
        .chain(lock)
        .chain(more)
        .collect()
}

fn fetch(target: &Target, policy: &Policy) -> Run {
    let command = match &target.source {
        Source::Remote(_) => "fetch",
        Source::Container(_) => "fetch-image",
    };
    let more = image(target, policy);
    run_of("fetch", call(command, policy, more), false).timed(policy)
}

/// Which image, and how to fetch it.
fn image(target: &Target, policy: &Policy) -> Vec<String> {
    let mut arguments = match &target.source {
        Source::Remote(branch) => pairs(&[
            ("--remote", branch.remote.as_str()),
            ("--ref", branch.reference.as_str()),
        ]),
        Source::Container(image) => container(image, policy),
    };
    if let Some(commit) = &target.commit {
        arguments.extend(pairs(&[("--commit", commit.as_str())]));
    }
    if policy.limits.bandwidth_bytes > 0 {
        // careen-deploy accepts no less than one packet per second.
        let bytes = policy.limits.bandwidth_bytes.max(1024);
        arguments.extend(pairs(&[("--bandwidth", bytes.to_string().as_str())]));
    }
    arguments.extend(unsigned(policy));
    arguments
}

fn unsigned(policy: &Policy) -> Option<String> {
    policy.unsigned.then(|| "--unsigned".to_owned())
}

fn container(image: &ContainerImage, policy: &Policy) -> Vec<String> {
    let mut arguments = pairs(&[("--image", image.to_string().as_str())]);
    let signer = &policy.registry.signed_by;
    if !signer.is_empty() {
        arguments.extend(pairs(&[("--signed-by", signer.as_str())]));
    }
    arguments
}

fn pairs(flags: &[(&str, &str)]) -> Vec<String> {
    let words = flags.iter().flat_map(|(flag, value)| [*flag, *value]);
    words.map(str::to_owned).collect()
}

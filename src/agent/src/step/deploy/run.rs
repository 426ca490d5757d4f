//! One run of careen-deploy: its arguments, and how long it may take.

use upgrade::plan::Look;
use upgrade::{ContainerImage, Deployment, Digest, Policy, Reason, Source, Target};

use crate::task::Verb;

/// The verb that takes an upgrade back.
pub const UNDO: &str = "undo";

/// How long a unit that is not to be killed may take to end once it is asked to, in microseconds: half an hour. It pays no heed, for it may be
/// inside libostree's swap; what still runs then hangs, and is killed, libostree's own child that would thaw /boot included. `ExecStopPost` does that.
const PATIENCE: u64 = 1_800_000_000;

/// How long one that may be killed has, in microseconds.
const IMPATIENCE: u64 = 10_000_000;

/// One run of careen-deploy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The verb, for messages.
    pub verb: &'static str,
    /// The arguments behind the program's name.
    pub arguments: Vec<String>,
    /// Whether libostree swaps boot entries in it, with the file system of /boot frozen: then a kill could hang the node.
    pub swaps: bool,
    /// How long it may take, in seconds; nothing where the policy says so of a fetch.
    pub seconds: Option<u64>,
    /// How long it may take to end once it is asked to, in microseconds.
    pub patience: u64,
}

/// How long each verb may take beside the wait for the lock, in seconds: far more than it needs on the slowest disk, so that what hangs (a
/// disk, a program that libostree waits for) ends as a step that has failed, and is tried again or given up.
mod longest {
    /// Reads all of the image, on a share of the processor.
    pub const VERIFY: u64 = 6 * 3600;
    /// Writes all of it.
    pub const DEPLOY: u64 = 2 * 3600;
    /// Writes a menu. A generator of it that hangs is ended after ten minutes. Nobody else ends a trial that is healthy, and its node is cordoned.
    pub const BLESS: u64 = 900;
    /// Writes a menu, in a system that has failed, and waits for the lock. A reboot follows in any case.
    pub const REINSTATE: u64 = 60;
    /// Reads the names of all objects and removes many: `undo` and `clean`.
    pub const PRUNE: u64 = 1800;
}

impl Run {
    /// With the time that a fetch may take.
    fn timed(self, policy: &Policy) -> Self {
        let limit = policy.limits.fetch_seconds;
        Self {
            seconds: (limit > 0).then_some(limit),
            ..self
        }
    }

    /// A reason for its end. Who is stopped cannot say by whom, and systemd by then knows nothing of the unit any more.
    #[must_use]
    pub fn with_its_time(&self, reason: Reason) -> Reason {
        match (reason, self.seconds) {
            (Reason::DeployDied { verb, detail }, Some(seconds)) => {
                let whose = match self.verb {
                    "fetch" | "plan" => "limits.fetch-seconds = ",
                    _ => "",
                };
                let detail = format!("{detail}; its limit is {whose}{seconds} s");
                Reason::DeployDied { verb, detail }
            }
            (other, _) => other,
        }
    }
}

/// Whose unit the run for a plan is: fixed, for only one runs at a time, and whoever needs the repository ends it by its name.
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
            ..limited("verify", of(commit), longest::VERIFY, policy)
        },
        Verb::Deploy { commit, image } => {
            let signed = image.as_ref().map(|image| signature(image, policy));
            let more = [of(commit), signed.unwrap_or_default()].concat();
            limited("deploy", more, longest::DEPLOY, policy)
        }
        Verb::Bless { commit, over } => {
            let more = [of(commit), instead(over.as_ref())].concat();
            limited("bless", more, longest::BLESS, policy)
        }
        Verb::Reinstate { deployment, over } => reinstate(deployment, over),
        // A fetch that was cut short may have named no commit.
        Verb::Undo { commit } => {
            let more = commit.as_ref().map_or_else(Vec::new, of);
            limited(UNDO, more, longest::PRUNE, policy)
        }
        Verb::Clean => limited("clean", Vec::new(), longest::PRUNE, policy),
    }
}

/// A run that swaps boot entries and may take so many seconds beside the wait for the lock.
fn limited(verb: &'static str, more: Vec<String>, seconds: u64, policy: &Policy) -> Run {
    Run {
        seconds: Some(seconds.saturating_add(policy.limits.lock_seconds)),
        ..run_of(verb, call(verb, policy, more), true)
    }
}

fn of(commit: &Digest) -> Vec<String> {
    pairs(&[("--commit", commit.as_str())])
}

/// By what a deployment checks the signature again. Since the fetch a key may be gone, or the policy
/// be stricter.
fn signature(image: &Target, policy: &Policy) -> Vec<String> {
    let mut arguments = match &image.source {
        Source::Remote(branch) => pairs(&[("--remote", branch.remote.as_str())]),
        Source::Container(image) => container(image, policy),
    };
    arguments.extend(unsigned(policy));
    arguments
}

/// The default that the blessing finds, or is none.
fn instead(over: Option<&Deployment>) -> Vec<String> {
    let over = over.map(name_of);
    over.map_or_else(Vec::new, |over| pairs(&[("--over", over.as_str())]))
}

/// What hangs in it is killed: the system that it runs in is left by a reboot all the same.
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

/// Which image, and how it is to be fetched.
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
        // careen-deploy takes no less than one packet a second.
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

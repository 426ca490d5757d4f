//! What the transient unit of one careen-deploy run looks like.

use std::path::Path;

use systemd::{Property, Variant};
use upgrade::plan::Look;
use upgrade::policy::{Limits, Policy};
use upgrade::{ContainerImage, Deployment, Reason, Source, Step, Target, UpgradeId};

/// How long a unit that is not to be killed may take to end once it is asked to, in microseconds: half an hour. It pays no heed, for it may be
/// inside libostree's swap; what still runs then hangs, and is killed, libostree's own child that would thaw /boot included. `ExecStopPost` does that.
const PATIENCE: u64 = 1_800_000_000;

/// How long one that may be killed has, in microseconds.
const IMPATIENCE: u64 = 10_000_000;

const MIB: u64 = 1024 * 1024;

/// In microseconds.
const SECOND: u64 = 1_000_000;

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

    /// The same, where a deployment asks whether the image is signed still: a key may be gone since
    /// the fetch, or the policy be stricter. A system that lies here comes from nowhere, and is not
    /// asked.
    #[must_use]
    pub fn asking_for_signatures(
        mut self,
        step: &Step,
        image: Option<&Target>,
        policy: &Policy,
    ) -> Self {
        if let (Step::Deploy { .. }, Some(image)) = (step, image) {
            self.arguments.extend(match &image.source {
                Source::Remote(branch) => pairs(&[("--remote", branch.remote.as_str())]),
                Source::Container(image) => container(image, policy),
            });
            self.arguments.extend(unsigned(policy));
        }
        self
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
                let detail = format!("{detail}; it may take {whose}{seconds} s");
                Reason::DeployDied { verb, detail }
            }
            (other, _) => other,
        }
    }
}

/// Whose unit the run for a plan is: fixed, for there is one at a time, and whoever needs the repository ends it by its name.
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

/// The run that performs a step; nothing for steps that are none of careen-deploy's.
#[must_use]
pub fn run(step: &Step, policy: &Policy) -> Option<Run> {
    let commit = |commit: &upgrade::Digest| vec!["--commit".to_owned(), commit.to_string()];
    let (verb, more, longest) = match step {
        Step::Fetch { target } => return Some(fetch(target, policy)),
        Step::Verify { commit: digest } => ("verify", commit(digest), longest::VERIFY),
        Step::Deploy { commit: digest } => ("deploy", commit(digest), longest::DEPLOY),
        Step::Bless {
            commit: digest,
            over,
        } => (
            "bless",
            [commit(digest), instead(over.as_ref())].concat(),
            longest::BLESS,
        ),
        Step::Reinstate { deployment, over } => return Some(reinstate(deployment, over)),
        // Without a commit it takes back what a fetch has left that did not come so far as to name one.
        Step::Undo { commit: digest } => (
            "undo",
            digest.as_ref().map_or_else(Vec::new, commit),
            longest::PRUNE,
        ),
        Step::Clean => ("clean", Vec::new(), longest::PRUNE),
        Step::Rehearse
        | Step::PreHooks
        | Step::Exclude
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. }
        | Step::Disarm
        | Step::Reboot { .. }
        | Step::Kubeadm
        | Step::PostHooks { .. }
        | Step::Release
        | Step::Unmark
        | Step::Pass => return None,
    };
    let swaps = verb != "verify";
    Some(Run {
        seconds: Some(longest.saturating_add(policy.limits.lock_seconds)),
        ..run_of(verb, call(verb, policy, more), swaps)
    })
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

/// The unit's name: fixed by upgrade and verb, so that an agent that was restarted finds the run that it began before.
#[must_use]
pub fn name(id: &UpgradeId, verb: &str) -> String {
    format!("careen-deploy-{id}-{verb}.service")
}

/// The units of all runs.
pub const ALL: &str = "careen-deploy-*.service";

/// Whether the run of this unit may be ended at any moment. Of the others none is told to: they end by themselves, and inside libostree's
/// swap they pay no heed.
#[must_use]
pub fn may_be_ended(name: &str) -> bool {
    let verbs = ["fetch", "verify", "plan"];
    verbs
        .iter()
        .any(|verb| name.ends_with(&format!("-{verb}.service")))
}

/// The unit's properties.
#[must_use]
pub fn properties<'a>(
    program: &'a Path,
    run: &'a Run,
    output: &'a Path,
    limits: &Limits,
) -> Vec<Property<'a>> {
    let program = program.display().to_string();
    let argv: Vec<String> = std::iter::once(program.clone())
        .chain(run.arguments.clone())
        .collect();
    let mut properties = vec![
        (
            "Description",
            Variant::new(format!("Careen: {} an operating system image", run.verb)),
        ),
        // A oneshot's start job ends when its work does, and that is a signal to wait for.
        ("Type", Variant::new("oneshot")),
        ("CollectMode", Variant::new("inactive-or-failed")),
        (
            "ExecStart",
            Variant::new(vec![(program.clone(), argv, false)]),
        ),
        // Appended: systemd opens it anew for ExecStopPost, and truncating would take the verdict away. The agent removes an old one.
        (
            "StandardOutputFileToAppend",
            Variant::new(output.display().to_string()),
        ),
        ("StandardError", Variant::new("journal")),
    ];
    if run.swaps {
        properties.push(("ExecStopPost", thaw(program)));
    }
    properties.extend(caps(run, limits));
    properties
}

/// Starts the program only where a run was killed: on a small machine libostree alone takes a second to load.
fn thaw(program: String) -> Variant<'static> {
    // systemd replaces ${NAME}, not $0 within a word (systemd.service(5), COMMAND LINES).
    let script = r#"[ ! -e "$1" ] || exec "$0" thaw"#.to_owned();
    let mark = host::freeze::mark(Path::new("/")).display().to_string();
    let shell = "/bin/sh".to_owned();
    let argv = vec![shell.clone(), "-c".to_owned(), script, program, mark];
    Variant::new(vec![(shell, argv, true)])
}

fn caps(run: &Run, limits: &Limits) -> Vec<Property<'static>> {
    let memory = limits.memory_mib.saturating_mul(MIB);
    let time = run.seconds.unwrap_or(0).saturating_mul(SECOND);
    let mut caps = if run.swaps {
        // Never killed for memory: /boot would stay frozen. It is slowed down instead.
        vec![
            ("OOMScoreAdjust", Variant::new(-900_i32)),
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryHigh", Variant::new(memory)),
        ]
    } else {
        vec![
            ("TimeoutStopUSec", Variant::new(run.patience)),
            ("MemoryMax", Variant::new(memory)),
            // systemd counts processor time in microseconds a second.
            (
                "CPUQuotaPerSecUSec",
                Variant::new(u64::from(limits.cpu_percent) * 10_000),
            ),
            ("IOWeight", Variant::new(u64::from(limits.io_weight))),
        ]
    };
    // A oneshot's work is its start, and RuntimeMaxUSec does not hold for it (systemd.service(5)).
    caps.push(("TimeoutStartUSec", Variant::new(time)));
    caps.retain(|(_, value)| *value != Variant::new(0_u64));
    caps
}

#[cfg(test)]
mod tests;

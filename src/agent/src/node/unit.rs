//! What the transient unit of one careen-deploy run looks like.

use std::path::Path;

use upgrade::plan::Look;
use upgrade::policy::{Limits, Policy};
use upgrade::{ContainerImage, Deployment, Reason, Source, Step, Target, UpgradeId};
use zbus::Variant;

use super::bus::Property;

/// How long a unit that is not to be killed may take to end, in microseconds: half an hour.
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
    /// How long it may take, in seconds. Only what waits for somebody else can take for ever.
    pub seconds: Option<u64>,
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
            (Reason::DeployDied { verb, detail }, Some(seconds)) => Reason::DeployDied {
                detail: format!("{detail}; it may take limits.fetch-seconds = {seconds} s"),
                verb,
            },
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
    let (verb, more, swaps) = match step {
        Step::Fetch { target } => return Some(fetch(target, policy)),
        Step::Verify { commit: digest } => ("verify", commit(digest), false),
        Step::Deploy { commit: digest } => ("deploy", commit(digest), true),
        Step::Bless {
            commit: digest,
            over,
        } => ("bless", [commit(digest), instead(over.as_ref())].concat(), true),
        Step::Undo {
            commit: Some(digest),
        } => ("undo", commit(digest), true),
        Step::Clean => ("clean", Vec::new(), true),
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
        // Nothing is known that could be taken back.
        | Step::Undo { commit: None }
        | Step::Pass => return None,
    };
    Some(run_of(verb, call(verb, policy, more), swaps))
}

/// The default that the blessing finds, or is none.
fn instead(over: Option<&Deployment>) -> Vec<String> {
    let over = over.map(|over| format!("{}.{}", over.digest, over.serial));
    over.map_or_else(Vec::new, |over| pairs(&[("--over", over.as_str())]))
}

const fn run_of(verb: &'static str, arguments: Vec<String>, swaps: bool) -> Run {
    Run {
        verb,
        arguments,
        swaps,
        seconds: None,
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
    if policy.unsigned {
        arguments.push("--unsigned".to_owned());
    }
    arguments
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
            ("TimeoutStopUSec", Variant::new(PATIENCE)),
            ("MemoryHigh", Variant::new(memory)),
        ]
    } else {
        vec![
            // A oneshot's work is its start, and RuntimeMaxUSec does not hold for it (systemd.service(5)).
            ("TimeoutStartUSec", Variant::new(time)),
            ("TimeoutStopUSec", Variant::new(IMPATIENCE)),
            ("MemoryMax", Variant::new(memory)),
            // systemd counts processor time in microseconds a second.
            (
                "CPUQuotaPerSecUSec",
                Variant::new(u64::from(limits.cpu_percent) * 10_000),
            ),
            ("IOWeight", Variant::new(u64::from(limits.io_weight))),
        ]
    };
    caps.retain(|(_, value)| *value != Variant::new(0_u64));
    caps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(step: &Step, limits: &Limits) -> Vec<&'static str> {
        let run = run(step, &Policy::default()).unwrap();
        caps(&run, limits)
            .into_iter()
            .map(|(name, _)| name)
            .collect()
    }

    #[test]
    fn only_fetch_and_verify_can_be_killed_for_memory() {
        let commit: upgrade::Digest = "a".repeat(64).parse().unwrap();
        let limits = Limits {
            cpu_percent: 50,
            ..Limits::default()
        };
        let verify = names(
            &Step::Verify {
                commit: commit.clone(),
            },
            &limits,
        );
        assert_eq!(
            verify,
            [
                "TimeoutStopUSec",
                "MemoryMax",
                "CPUQuotaPerSecUSec",
                "IOWeight"
            ]
        );
        for swapping in [
            Step::Deploy {
                commit: commit.clone(),
            },
            Step::Bless { commit, over: None },
            Step::Clean,
        ] {
            assert_eq!(
                names(&swapping, &limits),
                ["OOMScoreAdjust", "TimeoutStopUSec", "MemoryHigh"]
            );
        }
    }

    #[test]
    fn only_a_run_that_freezes_boot_is_followed_by_a_thaw() {
        let commit: upgrade::Digest = "a".repeat(64).parse().unwrap();
        let thaws = |step: &Step| {
            let run = run(step, &Policy::default()).unwrap();
            properties(Path::new("/x"), &run, Path::new("/y"), &Limits::default())
                .iter()
                .any(|(name, _)| *name == "ExecStopPost")
        };
        assert!(thaws(&Step::Deploy {
            commit: commit.clone()
        }));
        assert!(thaws(&Step::Clean));
        assert!(!thaws(&Step::Verify { commit }));
    }

    #[test]
    fn every_property_has_the_type_that_systemd_wants() {
        let limits = Limits {
            cpu_percent: 50,
            ..Limits::default()
        };
        let clean = run(&Step::Clean, &Policy::default()).unwrap();
        let commit = "a".repeat(64).parse().unwrap();
        let verify = run(&Step::Verify { commit }, &Policy::default()).unwrap();
        for run in [&clean, &verify, &fetching()] {
            for (name, value) in properties(Path::new("/x"), run, Path::new("/y"), &limits) {
                // systemd's src/core/dbus-execute.c, dbus-service.c, dbus-cgroup.c, dbus-unit.c.
                let wanted = match name {
                    "ExecStart" | "ExecStopPost" => "a(sasb)",
                    "OOMScoreAdjust" => "i",
                    "TimeoutStartUSec" | "TimeoutStopUSec" | "MemoryHigh" | "MemoryMax"
                    | "CPUQuotaPerSecUSec" | "IOWeight" => "t",
                    _ => "s",
                };
                assert_eq!(value.value_signature().to_string(), wanted, "{name}");
            }
        }
    }

    fn fetching() -> Run {
        let target = "ostree:images:os/stable".parse().unwrap();
        run(&Step::Fetch { target }, &Policy::default()).unwrap()
    }

    #[test]
    fn the_look_for_a_plan_fetches_in_time_under_a_name_of_its_own() {
        let look = Look {
            target: "ostree:images:os/stable".parse().unwrap(),
            kept: false,
        };
        let run = plan(&look, &Policy::default());
        assert_eq!((run.swaps, run.seconds), (false, Some(3600)));
        assert_eq!(
            run.arguments[3..],
            ["--remote", "images", "--ref", "os/stable"]
        );
        let id = PLAN_ID.parse().unwrap();
        assert_eq!(name(&id, run.verb), upgrade::names::PLAN_UNIT);
    }

    #[test]
    fn a_container_image_is_fetched_in_the_unit_of_a_fetch_with_the_policys_keyring() {
        let image = format!("docker://r.example.com/os@sha256:{}", "b".repeat(64));
        let commit = "a".repeat(64);
        let target = format!("{image}@{commit}").parse().unwrap();
        let mut policy = Policy::default();
        policy.registry.signed_by = "site".to_owned();
        let run = run(&Step::Fetch { target }, &policy).unwrap();
        assert_eq!((run.verb, run.seconds), ("fetch", Some(3600)));
        let wanted = [
            "fetch-image",
            "--lock-seconds",
            "60",
            "--image",
            &image,
            "--signed-by",
            "site",
            "--commit",
            &commit,
        ];
        assert_eq!(run.arguments, wanted);
    }

    #[test]
    fn a_blessing_names_the_default_that_was_judged() {
        let commit: upgrade::Digest = "a".repeat(64).parse().unwrap();
        let over = Deployment {
            digest: "b".repeat(64).parse().unwrap(),
            serial: 1,
            stateroot: "os".to_owned(),
            bootcsum: "b".repeat(64),
            pinned: false,
        };
        let step = Step::Bless {
            commit: commit.clone(),
            over: Some(over),
        };
        let run = run(&step, &Policy::default()).unwrap();
        let named = format!("{}.1", "b".repeat(64));
        let wanted = ["--commit", commit.as_str(), "--over", &named];
        assert_eq!(run.arguments[3..], wanted);
    }

    #[test]
    fn a_run_that_swaps_boot_entries_is_never_told_to_end() {
        for (verb, may) in [("fetch", true), ("verify", true), ("plan", true)]
            .into_iter()
            .chain(["deploy", "bless", "undo", "clean"].map(|verb| (verb, false)))
        {
            let id = "u1".parse().unwrap();
            assert_eq!(may_be_ended(&name(&id, verb)), may, "{verb}");
        }
    }

    #[test]
    fn a_fetch_has_its_time_and_nothing_else_has() {
        let run = fetching();
        let caps = caps(&run, &Limits::default());
        assert!(caps.contains(&("TimeoutStartUSec", Variant::new(3600 * SECOND))));
        let commit = "a".repeat(64).parse().unwrap();
        let others = names(&Step::Verify { commit }, &Limits::default());
        assert!(!others.contains(&"TimeoutStartUSec"));
    }

    #[test]
    fn a_fetch_that_was_stopped_is_told_with_its_time_and_what_it_said_itself_without() {
        let run = fetching();
        let died = Reason::DeployDied {
            verb: "fetch".to_owned(),
            detail: "stopped by a signal".to_owned(),
        };
        let told = run.with_its_time(died).to_string();
        assert!(
            told.ends_with("stopped by a signal; it may take limits.fetch-seconds = 3600 s"),
            "{told}"
        );
        let remote = "images".to_owned();
        let unknown = || Reason::UnknownRemote {
            remote: remote.clone(),
        };
        assert_eq!(run.with_its_time(unknown()), unknown());
    }

    #[test]
    fn a_limit_of_zero_is_no_limit() {
        let none = Limits {
            memory_mib: 0,
            io_weight: 0,
            ..Limits::default()
        };
        let commit = "a".repeat(64).parse().unwrap();
        assert_eq!(names(&Step::Verify { commit }, &none), ["TimeoutStopUSec"]);
    }
}

use upgrade::plan::Look;
use upgrade::{Deployment, Policy, Reason, Target};

use super::*;
use crate::step::deploy::run::{PLAN_ID, plan, run};
use crate::task::Verb;

fn names(step: &Verb, limits: &Limits) -> Vec<&'static str> {
    let run = run(step, &Policy::default());
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
        &Verb::Verify {
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
            "IOWeight",
            "TimeoutStartUSec"
        ]
    );
    for swapping in [
        Verb::Deploy {
            commit: commit.clone(),
            image: None,
        },
        Verb::Bless { commit, over: None },
        Verb::Clean,
    ] {
        assert_eq!(
            names(&swapping, &limits),
            [
                "OOMScoreAdjust",
                "TimeoutStopUSec",
                "MemoryHigh",
                "TimeoutStartUSec"
            ]
        );
    }
}

#[test]
fn only_a_run_that_freezes_boot_is_followed_by_a_thaw() {
    let commit: upgrade::Digest = "a".repeat(64).parse().unwrap();
    let thaws = |step: &Verb| {
        let run = run(step, &Policy::default());
        properties(Path::new("/x"), &run, Path::new("/y"), &Limits::default())
            .iter()
            .any(|(name, _)| *name == "ExecStopPost")
    };
    assert!(thaws(&Verb::Deploy {
        commit: commit.clone(),
        image: None,
    }));
    assert!(thaws(&Verb::Clean));
    assert!(!thaws(&Verb::Verify { commit }));
}

#[test]
fn every_property_has_the_type_that_systemd_wants() {
    let limits = Limits {
        cpu_percent: 50,
        ..Limits::default()
    };
    let clean = run(&Verb::Clean, &Policy::default());
    let commit = "a".repeat(64).parse().unwrap();
    let verify = run(&Verb::Verify { commit }, &Policy::default());
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
    run(&Verb::Fetch { target }, &Policy::default())
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
fn container_fetch_passes_the_image_and_the_policys_keyring() {
    let image = format!("docker://r.example.com/os@sha256:{}", "b".repeat(64));
    let commit = "a".repeat(64);
    let target = format!("{image}@{commit}").parse().unwrap();
    let mut policy = Policy::default();
    policy.registry.signed_by = "site".to_owned();
    let run = run(&Verb::Fetch { target }, &policy);
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

/// The arguments of a deployment of this image after its commit.
fn deploying(image: Option<&str>, policy: &Policy) -> Vec<String> {
    let image: Option<Target> = image.map(|image| image.parse().unwrap());
    let commit = "a".repeat(64).parse().unwrap();
    run(&Verb::Deploy { commit, image }, policy).arguments[5..].to_vec()
}

#[test]
fn a_deployment_asks_for_signatures_by_the_policy_of_now() {
    let (strict, mut loose) = (Policy::default(), Policy::default());
    loose.unsigned = true;
    let remote = Some("ostree:images:os/stable");
    assert_eq!(deploying(remote, &strict), ["--remote", "images"]);
    assert_eq!(
        deploying(remote, &loose),
        ["--remote", "images", "--unsigned"]
    );
    let image = format!("docker://r.example.com/os@sha256:{}", "b".repeat(64));
    let container = Some(image.as_str());
    assert_eq!(deploying(container, &strict), ["--image", &image]);
    loose.registry.signed_by = "site".to_owned();
    let named = ["--image", &image, "--signed-by", "site", "--unsigned"];
    assert_eq!(deploying(container, &loose), named);
    assert_eq!(
        deploying(None, &loose),
        [""; 0],
        "what lies here came from nowhere"
    );
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
        kept: false,
    };
    let step = Verb::Bless {
        commit: commit.clone(),
        over: Some(over),
    };
    let run = run(&step, &Policy::default());
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

/// The value of a property of the unit that performs this step.
fn value(step: &Verb, policy: &Policy, property: &str) -> Option<Variant<'static>> {
    let run = run(step, policy);
    let mut caps = caps(&run, &policy.limits).into_iter();
    caps.find_map(|(name, value)| (name == property).then_some(value))
}

fn every_step_of_careen_deploy() -> [Verb; 6] {
    let commit: upgrade::Digest = "a".repeat(64).parse().unwrap();
    [
        Verb::Fetch {
            target: "ostree:images:os/stable".parse().unwrap(),
        },
        Verb::Verify {
            commit: commit.clone(),
        },
        Verb::Deploy {
            commit: commit.clone(),
            image: None,
        },
        Verb::Bless {
            commit: commit.clone(),
            over: None,
        },
        Verb::Undo {
            commit: Some(commit),
        },
        Verb::Clean,
    ]
}

#[test]
fn no_run_that_hangs_holds_its_upgrade_for_ever() {
    let minutes = |minutes: u64| Some(Variant::new((minutes * 60 + 60) * SECOND));
    let policy = Policy::default();
    assert_eq!(policy.limits.lock_seconds, 60);
    let steps = every_step_of_careen_deploy();
    let times = steps.map(|step| value(&step, &policy, "TimeoutStartUSec"));
    let wanted = [59, 360, 120, 15, 30, 30].map(minutes);
    assert_eq!(times, wanted);
}

#[test]
fn lock_wait_is_added_to_the_runs_start_timeout() {
    let mut policy = Policy::default();
    policy.limits.lock_seconds = 7200;
    let time = value(&Verb::Clean, &policy, "TimeoutStartUSec");
    assert_eq!(time, Some(Variant::new((7200 + 1800) * SECOND)));
}

#[test]
fn a_fetch_takes_as_long_as_it_likes_where_the_policy_says_so() {
    let mut policy = Policy::default();
    policy.limits.fetch_seconds = 0;
    let [fetch, ..] = every_step_of_careen_deploy();
    assert_eq!(value(&fetch, &policy, "TimeoutStartUSec"), None);
}

/// The system that it runs in has failed, and is left by a reboot.
#[test]
fn reinstate_times_out_after_a_minute_and_stops_in_ten_seconds() {
    let one = |letter: &str| upgrade::Deployment {
        digest: letter.repeat(64).parse().unwrap(),
        serial: 1,
        stateroot: "debian".to_owned(),
        bootcsum: letter.repeat(64),
        pinned: false,
        kept: false,
    };
    let step = Verb::Reinstate {
        deployment: one("a"),
        over: one("b"),
    };
    let mut policy = Policy::default();
    policy.limits.lock_seconds = 3600;
    let seconds = |name| value(&step, &policy, name);
    let [start, stop] = ["TimeoutStartUSec", "TimeoutStopUSec"].map(seconds);
    assert_eq!(start, Some(Variant::new(60 * SECOND)));
    assert_eq!(stop, Some(Variant::new(10 * SECOND)));
    let run = run(&step, &policy);
    assert!(run.swaps, "a kill is followed by a thaw");
    let [old, over] = ["a", "b"].map(|letter| format!("{}.1", letter.repeat(64)));
    let wanted = ["--deployment", &old, "--over", &over];
    assert_eq!(run.arguments[3..], wanted);
}

#[test]
fn hung_swap_has_half_an_hour_to_stop() {
    let [_, _, swapping @ ..] = every_step_of_careen_deploy();
    for step in swapping {
        let time = value(&step, &Policy::default(), "TimeoutStopUSec");
        assert_eq!(time, Some(Variant::new(1800 * SECOND)), "{step:?}");
    }
}

#[test]
fn a_blessing_that_hung_is_told_with_the_time_that_it_had() {
    let [_, _, _, bless, ..] = every_step_of_careen_deploy();
    let run = run(&bless, &Policy::default());
    let died = Reason::DeployDied {
        verb: "bless".to_owned(),
        detail: "see journalctl".to_owned(),
    };
    let told = run.with_its_time(died).to_string();
    assert!(
        told.contains("see journalctl; its limit is 960 s. "),
        "{told}"
    );
}

#[test]
fn the_caps_of_the_policy_reach_systemd_in_its_own_units() {
    let mut policy = Policy::default();
    policy.limits.cpu_percent = 150;
    policy.limits.memory_mib = 768;
    policy.limits.io_weight = 20;
    let [fetch, verify, swapping @ ..] = every_step_of_careen_deploy();
    for step in [fetch, verify] {
        let value = |property| value(&step, &policy, property);
        // 150 percent are one and a half of each second.
        assert_eq!(
            value("CPUQuotaPerSecUSec"),
            Some(Variant::new(1_500_000_u64))
        );
        assert_eq!(value("MemoryMax"), Some(Variant::new(768 * 1_048_576_u64)));
        assert_eq!(value("IOWeight"), Some(Variant::new(20_u64)));
        assert_eq!(value("MemoryHigh"), None);
    }
    for step in swapping {
        let value = |property| value(&step, &policy, property);
        assert_eq!(value("MemoryHigh"), Some(Variant::new(768 * 1_048_576_u64)));
        for cap in ["MemoryMax", "CPUQuotaPerSecUSec", "IOWeight"] {
            assert_eq!(value(cap), None, "{cap} would draw a freeze of /boot out");
        }
    }
}

#[test]
fn the_cap_on_bandwidth_is_for_what_fetches_alone() {
    let mut policy = Policy::default();
    let capped = |policy: &Policy, step: &Verb| {
        let arguments = run(step, policy).arguments;
        let at = arguments.iter().position(|word| word == "--bandwidth")?;
        arguments.get(at + 1).cloned()
    };
    let [fetch, others @ ..] = every_step_of_careen_deploy();
    assert_eq!(capped(&policy, &fetch), None, "no cap by default");
    policy.limits.bandwidth_bytes = 250_000;
    assert_eq!(capped(&policy, &fetch).as_deref(), Some("250000"));
    for step in others {
        assert_eq!(capped(&policy, &step), None, "{step:?}");
    }
    policy.limits.bandwidth_bytes = 1;
    assert_eq!(capped(&policy, &fetch).as_deref(), Some("1024"));
}

#[test]
fn an_undo_without_a_commit_is_a_run_too() {
    let run = run(&Verb::Undo { commit: None }, &Policy::default());
    assert_eq!((run.verb, run.swaps), ("undo", true));
    assert_eq!(run.arguments, ["undo", "--lock-seconds", "60"]);
}

#[test]
fn stopped_fetch_reports_its_time_limit_and_own_errors_do_not() {
    let run = fetching();
    let died = Reason::DeployDied {
        verb: "fetch".to_owned(),
        detail: "stopped by a signal".to_owned(),
    };
    let told = run.with_its_time(died).to_string();
    assert!(
        told.contains("stopped by a signal; its limit is limits.fetch-seconds = 3600 s. "),
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
    let left = ["TimeoutStopUSec", "TimeoutStartUSec"];
    assert_eq!(names(&Verb::Verify { commit }, &none), left);
}

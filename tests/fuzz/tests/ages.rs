//! Programs of different age on one node: the output of an older and a newer careen-deploy, image,
//! stage and agent, as frozen samples in `ages`, and what this version does with it.
//!
//! Such programs meet in three places. A DaemonSet installs an agent next to the image's programs.
//! The agent and stage of a trial meet the old ones after the fallback. Each node's agent meets the
//! cluster's careen-provider. The record has its own samples (`src/host/tests/samples`).
#![allow(clippy::unwrap_used, clippy::panic)]

use std::convert::Infallible;
use std::fs;
use std::path::PathBuf;

use careen_fuzz::{brain, lines};
use host::Places;
use host::critical::CriticalFiles;
use serde::Serialize;
use serde::de::DeserializeOwned;
use upgrade::deploy::{Done, Line};
use upgrade::report::Status;
use upgrade::step::Effect;
use upgrade::*;

const AGES: [&str; 2] = ["older", "newer"];

fn sample(name: &str) -> Vec<u8> {
    let top = PathBuf::from(std::env::var("CARGO_MANIFEST_DIR").unwrap());
    let path = top.join("ages").join(name);
    fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn digest(letter: char) -> Digest {
    letter.to_string().repeat(64).parse().unwrap()
}

fn deployment() -> Deployment {
    Deployment {
        digest: digest('b'),
        serial: 0,
        stateroot: "debian".into(),
        bootcsum: "b".repeat(64),
        pinned: false,
        kept: false,
    }
}

/// The verdict that the agent finds in the file of a careen-deploy of that age.
fn verdict(of: &str) -> Option<Line> {
    lines::verdict(&sample(of))
}

#[test]
fn a_careen_deploy_of_another_age_is_understood_in_every_verb() {
    for age in AGES {
        let done = |verb: &str| match verdict(&format!("{age}/{verb}.jsonl")) {
            Some(Line::Done(done)) => done,
            other => panic!("{age}, {verb}: {other:?}"),
        };
        let Done::Fetched { commit, bytes } = done("fetch") else {
            panic!("{age}")
        };
        assert_eq!((commit, bytes), (digest('b'), 123_456), "{age}");
        let Done::Verified(facts) = done("verify") else {
            panic!("{age}")
        };
        let info = facts.info.unwrap();
        assert_eq!(info.kubernetes.to_string(), "v1.36.3", "{age}");
        assert_eq!(info.stage, Some(1), "{age}");
        assert_eq!(facts.root, Room { need: 1, free: 2 }, "{age}");
        assert_eq!(done("deploy"), Done::Deployed(deployment()), "{age}");
        assert_eq!(done("bless"), Done::Blessed, "{age}");
        assert_eq!(done("undo"), Done::Undone, "{age}");
        assert_eq!(done("clean"), Done::Cleaned, "{age}");
        let failed = verdict(&format!("{age}/failed.jsonl"));
        let Some(Line::Failed(Reason::NoRoom { place, .. })) = failed else {
            panic!("{age}: {failed:?}")
        };
        assert_eq!(place, "/boot", "{age}");
    }
}

#[test]
fn unknown_verdict_is_read_as_none() {
    // For the agent that is `DeployDied`: it retries the step, and gives up as for any step.
    assert_eq!(verdict("newer/an-unknown-answer.jsonl"), None);
}

/// A node whose upgrade is about to take this step.
fn about_to(step: &Step, phase: Phase) -> (Record, Observation) {
    let mut seen = brain::quiet().unwrap();
    let request = RawRequest::scheduled(format!("ostree:careen:os@{}", digest('b')));
    seen.node.request = Asked::This(request.clone());
    let target = request.image.as_deref().unwrap().parse().unwrap();
    let mut up = Upgrade::new(
        "u1".parse().unwrap(),
        request,
        target,
        seen.machine.booted.clone(),
    );
    up.phase = phase;
    up.intent = Some(step.clone());
    let record = Record {
        upgrade: Some(up),
        ..Record::default()
    };
    (record, seen)
}

struct Kept(Option<Record>);

impl RecordStore for Kept {
    type Error = Infallible;
    fn store(&mut self, record: &Record) -> Result<(), Infallible> {
        self.0 = Some(record.clone());
        Ok(())
    }
}

/// The phase of the upgrade after this outcome of the step, and the next act.
fn after(step: Step, phase: Phase, outcome: Outcome) -> (Phase, Act) {
    let (record, mut seen) = about_to(&step, phase);
    seen.turn.finished = Some(Finished { step, outcome });
    let decision = decide(&seen, &Ok(record), &Ok(Policy::default()));
    let (next, act) = decision.commit(&mut Kept(None)).unwrap();
    (next.unwrap().upgrade.unwrap().phase, act)
}

fn verified(facts: ImageFacts) -> Phase {
    let commit = digest('b');
    let outcome = Outcome::Done(Effect::Verified(facts));
    after(Step::Verify { commit }, Phase::Fetched, outcome).0
}

#[test]
fn image_verified_by_another_release_is_accepted() {
    for age in AGES {
        let Some(Line::Done(Done::Verified(facts))) = verdict(&format!("{age}/verify.jsonl"))
        else {
            panic!("{age}")
        };
        assert_eq!(verified(facts), Phase::Verified, "{age}");
    }
}

#[test]
fn unknown_failure_reason_ends_the_upgrade_before_arming() {
    let Some(Line::Failed(reason)) = verdict("newer/failed-for-an-unknown-reason.jsonl") else {
        panic!("no failure")
    };
    assert_eq!(reason, Reason::Unheard);
    let step = Step::Deploy {
        commit: digest('b'),
    };
    let (phase, act) = after(step, Phase::Verified, Outcome::Failed(reason));
    let (Phase::Reverting { reason } | Phase::Failed { reason }) = &phase else {
        panic!("{phase:?}")
    };
    assert_eq!(*reason, Reason::Unheard);
    assert!(!matches!(act, Act::Begin(Step::Arm { .. })), "{act:?}");
}

#[test]
fn image_with_another_or_no_stage_protocol_is_refused() {
    let Some(Line::Done(Done::Verified(facts))) = verdict("older/verify.jsonl") else {
        panic!("no facts")
    };
    for (name, protocol) in [
        ("newer/image-of-another-stage.json", Some(2)),
        ("older/image.json", None),
    ] {
        let info = host::image_info::parse(&sample(name)).unwrap();
        let facts = ImageFacts {
            info: Some(info),
            ..facts.clone()
        };
        let phase = verified(facts);
        let (Phase::Reverting { reason } | Phase::Failed { reason }) = &phase else {
            panic!("{name}: {phase:?}")
        };
        let Reason::NoStage { found, .. } = reason else {
            panic!("{name}: {reason:?}")
        };
        assert_eq!(*found, protocol, "{name}");
    }
}

#[test]
fn image_json_reader_allows_extra_fields_and_no_other_format() {
    let info = host::image_info::parse(&sample("newer/image.json")).unwrap();
    assert_eq!(info.stage, Some(1));
    let refused = host::image_info::parse(&sample("newer/image-of-another-format.json"));
    assert!(refused.is_err(), "{refused:?}");
}

/// The guard of a trial is from the new image, and the old one's careen-deploy wrote the list. On
/// the way back it is reversed.
#[test]
fn guard_reads_other_releases_manifests_and_refuses_new_formats() {
    let folder = tempfile::tempdir().unwrap();
    let places = Places::running(folder.path());
    let read = |name: &str| {
        let path = places.critical_files(&digest('a'));
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, sample(name)).unwrap();
        CriticalFiles::read(&places, &digest('a'))
    };
    for age in AGES {
        let list = read(&format!("{age}/manifest.json")).unwrap();
        assert_eq!(list.files[0].path, "usr/bin/kubelet", "{age}");
    }
    let refused = read("newer/manifest-of-another-format.json").unwrap_err();
    assert!(!refused.is_absent(), "{refused}");
}

/// As careen-provider and kubectl-careen read it.
#[test]
fn what_an_agent_of_another_age_tells_of_itself_is_read() {
    for age in AGES {
        let status: Status =
            serde_json::from_slice(&sample(&format!("{age}/status.json"))).unwrap();
        let id = status.id.map(|id| id.to_string());
        assert_eq!((id.as_deref(), status.tries), (Some("u1"), 1), "{age}");
    }
}

/// Each line parses, and prints to the same text.
fn names_of<T: Serialize + DeserializeOwned>(
    file: &str,
    name: fn(&T) -> &'static str,
) -> Vec<String> {
    let text = String::from_utf8(sample(file)).unwrap();
    let one = |line: &str| {
        let read: T = serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(serde_json::to_string(&read).unwrap(), line);
        name(&read).to_owned()
    };
    text.lines().map(one).collect()
}

/// The old system reads what a trial wrote. A phase or step that it does not know would make it
/// unable to end the upgrade. So a developer who adds one must not let a trial write it before the
/// new system is blessed, and must raise `min_reader` from then on.
#[test]
fn format_1_keeps_exactly_its_phase_and_step_names() {
    let phases = names_of::<Phase>("format-1.phases.jsonl", Phase::name);
    assert_eq!(phases, Phase::NAMES);
    let steps = names_of::<Step>("format-1.steps.jsonl", in_format_1);
    assert_eq!(steps.len(), 18);
}

/// Without a wildcard, so that a new step needs a decision here.
fn in_format_1(step: &Step) -> &'static str {
    match step {
        Step::Fetch { .. }
        | Step::Verify { .. }
        | Step::Rehearse
        | Step::Deploy { .. }
        | Step::PreHooks
        | Step::Exclude
        | Step::Drain { .. }
        | Step::Snapshot
        | Step::Arm { .. }
        | Step::Disarm
        | Step::Reboot { .. }
        | Step::Kubeadm
        | Step::Bless { .. }
        | Step::PostHooks { .. }
        | Step::Release
        | Step::Undo { .. }
        | Step::Clean
        | Step::Pass => step.name(),
        Step::Unmark | Step::Settle | Step::Control { .. } => "never in a record",
        // The record contains `Upgrade::reinstated` instead.
        Step::Reinstate { .. } => unreachable!("no record names it"),
    }
}

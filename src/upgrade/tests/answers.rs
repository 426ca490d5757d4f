//! What a Node says of its upgrade, rendered for the docs from real reports. `CAREEN_BLESS=1 cargo test -p upgrade` writes it again.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::{BTreeMap, BTreeSet};

use scene::*;
use serde_json::Value;
use upgrade::record::{Reached, Refused};
use upgrade::*;

const HEAD: &str = "# What a Node answers

Rendered from `src/upgrade/src/report.rs`, as the brain reports each phase. All of it is written by the agent alone; requesters only read it.

- The annotations `controlplane.cluster.x-k8s.io/inplace-upgrade` (the answer), `controlplane.cluster.x-k8s.io/failure-reason` (the sentence, only
  with `Failed`) and `careen.dev/status` (JSON, below), and the condition `CareenUpgrading`, in one write.
- The condition is `True` while the answer is `InProgress`, else `False`. Its `reason` is the code of the [reason](reasons.md) when there is one,
  else the phase; its `message` is that reason's sentence, else what is being done, else that the image has no guard where it has none, else the phase.
- An Event (namespace `default`, about the Node, reporting controller `careen.dev/agent`, action `Upgrade`) for each new answer, reason or phase, with the
  reason and the message of the condition: `Warning` when the answer is `Failed` or a reason is named, else `Normal`. Nobody should decide by Events.
- While `careen.dev/paused` is on the Node, or [what looks like it](operating.md#misspelled-keys), `paused` in the status repeats why. An upgrade that is not armed yet then begins no further step, with the
  reason `Paused`; one that is armed goes on. A request that waits for the pause to end leaves the last answer as it is: the condition alone says `Paused`.
- A key that is nearly ours and no pause is told in `unknownKeys` and behind the condition's message, with an Event `UnknownKeys` of its own. A node that was never
  asked says it with the phase `Idle`, and takes it back when the key goes.
- `careen.dev/history`: the last ten upgrades and refused requests, as JSON of at most 4 KiB, the latest first; in the same write.
  Of an upgrade `seconds` says how long it was `working` and `waiting` for the operator's hours or the end of a pause, and for how long the node was `cordoned`, `drained`
  and `notReady` over it, each in seconds; an agent that did not count that leaves `seconds` out.
- `careen.dev/plan-result`: the answer to `careen.dev/plan`, in a write of its own ([planning](plan.md)).
- `InProgress` with a reason means that something is in the way, and that the upgrade goes on: a step that is tried again, a drain that will be
  held up. On the way back (`Reverting`) it is what the upgrade goes back for, unless something is in the way of that too.
- A sentence is at most 4096 bytes long. A longer one is cut and says so; `careen-agent record` on the node has all of it. While the record cannot be
  written (`RecordUnwritten`) or the machine not be made out (`MachineUnseen`), what is told comes from the record as it was before.

## Phases

";

const STATUS: &str = "
## The annotation `careen.dev/status`

One JSON object. What is not known is left out; readers should ignore keys that they do not know.

";

/// What has been reached, for a person. A new phase does not compile without a line.
fn means(phase: &Phase) -> &'static str {
    match phase {
        Phase::Accepted => "the request is taken, nothing is touched",
        Phase::Fetched => "the commit is on the node, its signature checked",
        Phase::Verified => "the commit is whole and may run here",
        Phase::Deployed => "it lies beside the running system, which is still the default",
        Phase::Drained => "the node is cordoned and its pods are gone",
        Phase::Armed { .. } => "the next boot is the trial; it cannot be withdrawn any more",
        Phase::Trial { .. } => "the new system runs and is being judged",
        Phase::Healthy { .. } => "it has proved itself in this boot",
        Phase::Blessed => "it is the default",
        Phase::Upgraded => "done; the node takes pods",
        Phase::Reverting { .. } => "on the way back to the old system",
        Phase::Failed { .. } => "the old system serves and takes pods",
        Phase::Halted { .. } => "only a person can help; the cordon stays",
    }
}

fn told(record: Record, doing: Option<&Doing>) -> Report {
    report(&Ok(record), &on_trial(), doing).unwrap()
}

fn row(phase: &str, report: &Report, means: &str) -> String {
    let answer = report.answer.unwrap().as_str();
    let percent = report.status.percent;
    format!("| `{phase}` | `{answer}` | {percent} | {means} |\n")
}

fn table_of_phases() -> String {
    let mut text =
        String::from("| phase | answer | percent | what has been reached |\n|---|---|---|---|\n");
    for phase in phases() {
        let report = told(upgrade_in(phase.clone()), None);
        assert_eq!(report.status.phase, phase.name());
        text += &row(phase.name(), &report, means(&phase));
    }
    let refused = Refused {
        id: None,
        reason: Reason::Withdrawn { replaced_by: None },
    };
    let report = told(
        Record {
            refused: Some(refused),
            ..Record::default()
        },
        None,
    );
    let means = "the request was refused before anything was touched";
    text + &row(&report.status.phase, &report, means)
}

/// Every key of the status, with what it says.
const KEYS: [(&str, &str); 20] = [
    (
        "id",
        "the upgrade's id: `careen.dev/upgrade-id`, or one that the agent made",
    ),
    ("phase", "how far it is, by the table above"),
    ("step", "the step under way"),
    ("doing", "what is being done, for a person"),
    ("percent", "of the whole upgrade, 0 to 100"),
    ("code", "the reason's code"),
    ("reason", "the reason's sentence"),
    (
        "revertsFor",
        "while the phase is `Reverting` and something is in the way of that: `code` and `reason` of what the upgrade goes back for; `code` and `reason` above are then what is in the way. Otherwise `code` and `reason` above are why it goes back",
    ),
    ("from", "the commit that ran when the request was taken"),
    (
        "to",
        "the requested commit; with a bare ref known once it is fetched",
    ),
    ("toVersion", "the Kubernetes version in it"),
    ("boot", "the id of the boot that speaks"),
    ("tries", "trial boots so far"),
    (
        "unguarded",
        "the image has no guard in its initramfs, and the policy's `unguarded = true` has let it through",
    ),
    (
        "differs",
        "how the new system differs from the former one, in sentences; the policy's `[serving]` lets it pass",
    ),
    (
        "defaultMoved",
        "somebody else has made the new system the default during its trial",
    ),
    (
        "paused",
        "why nothing new is begun, while `careen.dev/paused` or what looks like it is on the Node",
    ),
    (
        "unknownKeys",
        "labels, annotations and taints on the Node that are nearly ours and unknown there, with the annotation that was probably intended, and a part of a request without the request, at most 8 ([the rule](operating.md#misspelled-keys))",
    ),
    (
        "reached",
        "phases, in the order in which they were reached: `phase` and `at`, in seconds since 1970 by the node's clock; `waited`, the seconds in \
         it that were spent waiting for the operator's hours or the end of a pause, where there were any",
    ),
    (
        "waitingSince",
        "since when it waits for the operator's hours or the end of a pause, in the same form",
    ),
];

/// A request, misspelt.
const NEARLY: &str = "infrastructure.cluster.x-k8s.io/in-place-upgrade";

fn key(key: &str) -> BTreeMap<String, String> {
    [(key.to_owned(), "x".to_owned())].into()
}

/// A status with everything in it.
fn full() -> Value {
    let mut record = upgrade_in(Phase::Verified);
    let up = record.upgrade.as_mut().unwrap();
    up.target.commit = Some(digest('b'));
    up.facts.as_mut().unwrap().info.as_mut().unwrap().stage = None;
    let blocked = Some(Reason::BudgetBlocks {
        pdb: "web".into(),
        pod: "shop/web-1".into(),
        seconds: 0,
    });
    up.rehearsal = record::Rehearsal::Held { blocked };
    up.reached = vec![Reached {
        phase: "Accepted".into(),
        at: WALL,
        waited: 0,
    }];
    up.bill.waiting.start(bill::Now::from(&asked()));
    let seen = asked().with(|seen| {
        seen.node.paused = Some("an audit".into());
        seen.node.strays = Keys::read(&key(NEARLY), &key(names::IMAGE)).strays;
        seen.turn.running = Some(Step::Deploy {
            commit: digest('b'),
        });
    });
    let doing = Doing {
        percent: 40,
        text: "checking out".into(),
    };
    let report = report(&Ok(record), &seen, Some(&doing)).unwrap();
    serde_json::to_value(report.status).unwrap()
}

/// One of a way back, in the way of which something is.
fn going_back() -> Value {
    let reason = Reason::NothingKept;
    let mut record = upgrade_in(Phase::Reverting { reason });
    let up = record.upgrade.as_mut().unwrap();
    up.attempt.default.note_moved();
    up.differs = vec!["resource cpu was 4 before the drain and is 2".into()];
    up.retry = Some(record::Retry {
        step: StepKind::Release.into(),
        tries: 1,
        due: Moment {
            boot: boot(1),
            at: SinceBoot(0),
        },
        reason: Reason::DrainRefused {
            detail: "a webhook".into(),
        },
    });
    let report = told(record, None);
    serde_json::to_value(report.status).unwrap()
}

#[test]
fn the_page_about_answers_is_what_the_code_reports() {
    let mut text = format!(
        "{HEAD}{}{STATUS}| key | what it says |\n|---|---|\n",
        table_of_phases()
    );
    for (key, means) in KEYS {
        text += &format!("| `{key}` | {means} |\n");
    }
    let sample = serde_json::to_string_pretty(&full()).unwrap();
    text += &format!("\nFor example:\n\n```json\n{sample}\n```\n");
    page::check_drift("answers.md", &text);
}

#[test]
fn every_key_of_the_status_is_on_the_page_and_no_other() {
    let (full, back) = (full(), going_back());
    let there: BTreeSet<_> = [&full, &back]
        .into_iter()
        .flat_map(|status| status.as_object().unwrap().keys())
        .map(String::as_str)
        .collect();
    let told: BTreeSet<_> = KEYS.into_iter().map(|(key, _)| key).collect();
    assert_eq!(there, told);
}

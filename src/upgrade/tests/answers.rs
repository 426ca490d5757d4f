//! What a Node says of its upgrade, rendered for the docs from real reports. `CAREEN_BLESS=1 cargo
//! test -p upgrade` writes it again.
#![allow(clippy::unwrap_used)]

mod scene;

use std::collections::{BTreeMap, BTreeSet};

use scene::*;
use serde_json::Value;
use upgrade::record::{Reached, Refused};
use upgrade::*;

const HEAD: &str = "# What a Node answers

Rendered from `src/upgrade/src/report.rs`. The agent writes all of this, and requesters only read
it.

- **The answer.** The agent writes three annotations and a condition at once:
  `controlplane.cluster.x-k8s.io/inplace-upgrade` has the answer,
  `controlplane.cluster.x-k8s.io/failure-reason` has the sentence of a `Failed`,
  `careen.dev/status` has [the details](#the-annotation-careendevstatus), and the condition is
  `CareenUpgrading`.
- **The condition.** It is `True` while the answer is `InProgress`, and `False` otherwise. Its
  `reason` is the code of the [reason](reasons.md) if there is one, or the phase. Its `message` is
  the first of these that exists: the reason's sentence, what the agent is doing, the note that the
  image has no guard, the phase.
- **Events.** Each new answer, reason or phase has an Event about the Node in the namespace
  `default`, with the reporting controller `careen.dev/agent` and the action `Upgrade`. Its reason
  and message are those of the condition. It is a `Warning` if the answer is `Failed` or there is a
  reason, and `Normal` otherwise. Do not decide by Events.
- **A pause.** While `careen.dev/paused` or [a key that resembles
  it](operating.md#misspelled-keys) is on the Node, `paused` in the status says why. An upgrade that
  is not armed begins no further step, with the reason `Paused`. An armed one continues. If a new
  request waits for the end of the pause, the last answer stays, and only the condition says
  `Paused`.
- **Misspelled keys.** A key that resembles one of Careen's, and is no pause, is in `unknownKeys`
  and at the end of the condition's message. It has an Event `UnknownKeys`. A node that was never
  asked reports the key with the phase `Idle`, and removes that report with the key.
- **The history.** `careen.dev/history` has the last ten upgrades and refused requests as JSON, at
  most 4 KiB, the latest first. The agent writes it with the answer. `seconds` of an upgrade says
  how long it was `working`, how long it was `waiting` for the operator's hours or for the end of a
  pause, and how long the node was `cordoned`, `drained` and `notReady`. An agent that did not count
  this leaves `seconds` out.
- **A plan.** `careen.dev/plan-result` answers `careen.dev/plan`, in a write of its own
  ([planning](plan.md)).
- **`InProgress` with a reason** means that something hinders the upgrade, and that it continues: the
  agent retries a step, or something will delay the drain. In the phase `Reverting` the reason says
  why the upgrade goes back, unless something hinders that too.
- **Long sentences.** A sentence has at most 4096 bytes. The agent cuts a longer one and says so;
  `careen-agent record` on the node shows all of it.
- **Old facts.** While the agent cannot write its record (`RecordUnwritten`) or cannot see the
  machine (`MachineUnseen`), the report comes from the last record.

## Phases

";

const STATUS: &str = "
## The annotation `careen.dev/status`

One JSON object, without the keys that the agent does not know. Ignore keys that you do not know.

";

/// What has been reached, for a person. A new phase does not compile without a line.
fn means(phase: &Phase) -> &'static str {
    match phase {
        Phase::Accepted => "the agent has accepted the request and changed nothing",
        Phase::Fetched => "the commit is on the node, and its signature is verified",
        Phase::Verified => "the commit is complete and may run here",
        Phase::Deployed => "it is beside the running system, which is still the default",
        Phase::Drained => "the node is cordoned and its pods are gone",
        Phase::Armed { .. } => {
            "the next boot is the trial; the request cannot be withdrawn any more"
        }
        Phase::Trial { .. } => "the new system runs, and the agent judges it",
        Phase::Healthy { .. } => "it has proved itself in this boot",
        Phase::Blessed => "it is the default",
        Phase::Upgraded => "done; the node takes pods",
        Phase::Reverting { .. } => "the agent rolls back to the old system",
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
    let means = "the agent refused the request before it changed anything";
    text + &row(&report.status.phase, &report, means)
}

/// Every key of the status, with what it says.
const KEYS: [(&str, &str); 20] = [
    (
        "id",
        "the upgrade's id: `careen.dev/upgrade-id`, or one that the agent made",
    ),
    ("phase", "the phase, as in the table above"),
    ("step", "the step under way"),
    ("doing", "what the agent is doing, for a person"),
    ("percent", "of the whole upgrade, 0 to 100"),
    ("code", "the reason's code"),
    ("reason", "the reason's sentence"),
    (
        "revertsFor",
        "`code` and `reason` of why the upgrade goes back, while the phase is `Reverting` and something hinders that. `code` and `reason` above then say what hinders it; otherwise they say why the upgrade goes back",
    ),
    ("from", "the commit that ran when the request was taken"),
    (
        "to",
        "the requested commit. If the request names only a ref, it is known after the fetch",
    ),
    ("toVersion", "the Kubernetes version in it"),
    ("boot", "the id of the boot in which the agent wrote this"),
    ("tries", "trial boots so far"),
    (
        "unguarded",
        "the image has no guard in its initramfs, and the policy has `unguarded = true`",
    ),
    (
        "differs",
        "how the new system differs from the old one, in sentences; `[serving]` in the policy allows it",
    ),
    (
        "defaultMoved",
        "another program or a person has made the new system the default during its trial",
    ),
    (
        "paused",
        "why the agent begins nothing new, while `careen.dev/paused` or a key that resembles it is on the Node",
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

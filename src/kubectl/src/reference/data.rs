//! What `-o json` and `-o yaml` print, field by field.

use std::fmt::Write;

/// A field and its meaning.
type Field = (&'static str, &'static str);

const HEAD: &str = "## Data for programs\n\nWith `-o json` or `-o yaml`. An unknown value is `null` or left out. Times (`…At`, `began`, `ended`) are in seconds since 1970; a node \
writes its own by its own clock. `plan` prints the node, the image, and under `plan` what the [agent answers](plan.md).\n\n";

/// The fields of a node: [`crate::render::report::NodeReport`].
const NODE: &[Field] = &[
    ("node", "its name"),
    (
        "state",
        "`Idle`, `Asked`, `Paused` (asked and paused), `Working`, `Upgraded`, `Failed`, `Refused`, `Halted`",
    ),
    (
        "phase",
        "the [phase](state-machine.md) of the current request; empty until the agent has answered it",
    ),
    ("percent", "the progress"),
    (
        "code",
        "the code of the [reason](reasons.md): what is in the way, or why it failed",
    ),
    ("reason", "its sentence"),
    (
        "elapsedSeconds",
        "how long the upgrade takes so far, or took; not with `--watch`",
    ),
    (
        "waitedSeconds",
        "how much of that it waited for the maintenance window or the end of a pause; not with `--watch`",
    ),
    (
        "expectedSeconds",
        "how long upgrades usually work here, while one is under way",
    ),
    (
        "remainingSeconds",
        "how much of that is left, 0 once the upgrade takes longer; not with `--watch`",
    ),
    ("kubelet", "the version of the running kubelet"),
    ("toVersion", "the version of the image, once it is known"),
    ("image", "the requested image"),
    ("id", "the id of the current request, or of the last answer"),
    (
        "soakSeconds",
        "how long the new system must be healthy at least, if the request says so",
    ),
    ("tries", "trial boots so far"),
    ("ready", "whether the Node is Ready"),
    ("cordoned", "whether it is cordoned"),
    (
        "cordonedBy",
        "the upgrade that cordoned it; a cordon without this is not Careen's",
    ),
    (
        "paused",
        "why nothing new begins, with or without a request",
    ),
    (
        "doing",
        "the progress message of the step under way, for people",
    ),
    (
        "askedAt",
        "when the request was last written, by the API server's clock",
    ),
    ("phaseAt", "when the phase was reached"),
    ("heardAt", "when the agent last wrote; not with `--watch`"),
    ("machine", "its Machine of Cluster API"),
    (
        "controlPlaneLockedBy",
        "who holds the [lock of the control plane](control-planes.md#careen-control-lock-and-unlock), the same for each node; only by `status` without `--watch`, for a user who may read it",
    ),
    ("controlPlaneLockedAt", "since when, by the holder's clock"),
];

/// The fields of a lock: [`crate::render::lock::LockReport`].
const LOCK: &[Field] = &[
    ("holder", "who holds the lock; empty if there is none"),
    ("node", "the holder's node"),
    ("id", "the holder's upgrade; a person may hold the lock too"),
    ("lockedAt", "since when, by the holder's clock"),
    (
        "phase",
        "the phase of that upgrade, if the Node says it; the Node may have another upgrade",
    ),
    ("ready", "whether the Node is Ready; empty if it is gone"),
    (
        "over",
        "why the next upgrade takes the lock over by itself: `nodeGone`, `anotherUpgrade`, `ended`",
    ),
    (
        "done",
        "`unlocked`, `nothing` (there was no lock, or it was removed meanwhile), `refused` (it has another holder than was shown or named), `declined`, `failed`",
    ),
    ("headline", "who holds it, for people"),
    ("facts", "as `explain` prints them"),
    (
        "findings",
        "as `explain` prints them; the first is the warning",
    ),
];

/// The fields of a finished upgrade: [`crate::past_upgrades::NodePast`].
const PAST: &[Field] = &[
    ("node", "the node"),
    ("id", "the request's id"),
    ("answer", "`Upgraded`, `Failed`"),
    ("image", "the image as requested"),
    ("from", "the Kubernetes version before"),
    ("to", "the version of the image, once it was known"),
    ("began", "when it began"),
    ("ended", "when it ended"),
    (
        "seconds",
        "`working`, `waiting` (for the maintenance window or the end of a pause), `cordoned`, `drained`, `notReady`; empty if the agent did not count them",
    ),
    ("tries", "trial boots"),
    ("code", "the code of the reason, if it failed"),
    ("reason", "its sentence, possibly cut"),
];

/// The fields of a result: [`crate::render::outcome::Outcome`].
const OUTCOME: &[Field] = &[
    ("node", "the node"),
    (
        "done",
        "`asked`, `joined` (the same request was there already, not answered yet), `withdrawn`, `paused`, `resumed`, `nothing` (there was nothing to do), `refused`, `failed`",
    ),
    ("id", "the id of the current request"),
    ("detail", "a message for people"),
    ("dryRun", "whether the server only validated it"),
];

/// The section of the page.
pub(super) fn section() -> String {
    let mut text = HEAD.to_owned();
    let tables = [
        (
            "**A node**: `status` prints a list of them, and with `--watch` one object a line for each change, as do `upgrade`, `retry` and `rollback` with `--watch`. `explain` \
             prints one, with `headline`, `facts`, `findings` and `runbook` (the runbook's section about `code`, as Markdown) in addition.",
            NODE,
        ),
        (
            "**A finished upgrade**: `history` prints a list of them.",
            PAST,
        ),
        (
            "**What was written**: a list, printed by `cancel`, `pause`, `resume`, and by `upgrade`, `retry` and `rollback` without `--watch`.",
            OUTCOME,
        ),
        (
            "**The lock of the control plane**: `unlock` prints it, also if it removes nothing.",
            LOCK,
        ),
    ];
    for (what, fields) in tables {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{what}\n\n| field | says |\n|---|---|");
        for (name, says) in fields {
            let _ = writeln!(text, "| `{name}` | {says} |");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Node;
    use crate::diagnose::lock;
    use crate::expected::Expected;
    use crate::past_upgrades::NodePast;
    use crate::render::lock::{Done as Removed, LockReport};
    use crate::render::outcome::{Done, Outcome};
    use crate::render::report;
    use crate::view::NodeView;
    use serde_json::{Value, json};

    /// The fields that are printed, without those that are omitted.
    fn printed(data: &impl serde::Serialize) -> Vec<String> {
        let Value::Object(fields) = serde_json::to_value(data).unwrap() else {
            panic!("no object")
        };
        let mut names: Vec<String> = fields.into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    }

    fn told(fields: &[Field]) -> Vec<String> {
        let mut names: Vec<String> = fields.iter().map(|(name, _)| (*name).to_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn every_field_that_is_printed_stands_in_the_page_and_no_other() {
        let node: Node = serde_json::from_value(json!({ "metadata": { "name": "a" } })).unwrap();
        let node = NodeView::from(node);
        let report = report::of(&node, 0, &Expected::default());
        assert_eq!(printed(&report), told(NODE));
        let past = json!({
            "id": "k-1", "answer": "Failed", "image": "x", "from": "v1.35.4", "to": "v1.36.3",
            "began": 1, "ended": 2, "seconds": {}, "tries": 1, "code": "x", "reason": "x",
        });
        let past = NodePast {
            node: "a".to_owned(),
            past: serde_json::from_value(past).unwrap(),
        };
        assert_eq!(printed(&past), told(PAST));
        let outcome = Outcome {
            id: Some("k-1".to_owned()),
            ..Outcome::new("a", Done::Asked, String::new())
        };
        assert_eq!(printed(&outcome), told(OUTCOME));
        let lock = LockReport::of(None, lock::free(), Removed::Nothing);
        assert_eq!(printed(&lock), told(LOCK));
    }
}

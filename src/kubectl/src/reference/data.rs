//! What `-o json` and `-o yaml` print, field by field.

use std::fmt::Write;

/// A field, and what it says.
type Field = (&'static str, &'static str);

const HEAD: &str = "## Data for programs\n\nWith `-o json` or `-o yaml`. What is not known is `null` or left out. Times (`…At`, `began`, `ended`) are in seconds since 1970; those that \
a node writes are by its own clock. `plan` prints the node, the image, and under `plan` what the [agent answers](plan.md).\n\n";

/// Of a node: [`crate::render::report::NodeReport`].
const NODE: &[Field] = &[
    ("node", "its name"),
    (
        "state",
        "`Idle`, `Asked`, `Paused` (asked and paused), `Working`, `Upgraded`, `Failed`, `Refused`, `Halted`",
    ),
    (
        "phase",
        "the [phase](state-machine.md) of the request that stands; nothing before the agent has answered it",
    ),
    ("percent", "how far it is"),
    (
        "code",
        "the code of the [reason](reasons.md): what is in the way, or why it failed",
    ),
    ("reason", "its sentence"),
    (
        "elapsedSeconds",
        "how long the upgrade is under way, or was; not with `--watch`",
    ),
    (
        "waitedSeconds",
        "how much of that it waited for its hours or the end of a pause; not with `--watch`",
    ),
    (
        "expectedSeconds",
        "how long upgrades are at work here, while one is under way",
    ),
    (
        "remainingSeconds",
        "what is left of that, 0 when it works longer already; not with `--watch`",
    ),
    ("kubelet", "the version of the kubelet that runs"),
    ("toVersion", "the version of the image, once it is known"),
    ("image", "the image that is asked for"),
    (
        "id",
        "the id of the request that stands, or of the last answer",
    ),
    (
        "soakSeconds",
        "for how long the new system must be healthy at least, where the request says that",
    ),
    ("tries", "trial boots so far"),
    ("ready", "whether the Node is Ready"),
    ("cordoned", "whether it takes no pods"),
    (
        "cordonedBy",
        "the upgrade that has cordoned it; a cordon without it is somebody else's",
    ),
    (
        "paused",
        "why nothing new is begun, whether something is asked or not",
    ),
    (
        "doing",
        "what the step under way says of itself, for people",
    ),
    (
        "askedAt",
        "when the request was written last, by the API server",
    ),
    ("phaseAt", "when the phase was reached"),
    ("heardAt", "when the agent wrote last; not with `--watch`"),
    ("machine", "the Machine of Cluster API that it is"),
];

/// Of an upgrade that has ended: [`crate::past::Told`].
const PAST: &[Field] = &[
    ("node", "the node"),
    ("id", "the request's id"),
    ("answer", "`Upgraded`, `Failed`"),
    ("image", "the image as it was asked for"),
    ("from", "the Kubernetes version before"),
    ("to", "that of the image, once it was known"),
    ("began", "when it began"),
    ("ended", "when it ended"),
    (
        "seconds",
        "`working`, `waiting` (for its hours or the end of a pause), `cordoned`, `drained`, `notReady`; nothing from an agent that did not count them",
    ),
    ("tries", "trial boots"),
    ("code", "the code of the reason, where it failed"),
    ("reason", "its sentence, perhaps cut"),
];

/// Of what was written to a node: [`crate::render::outcome::Outcome`].
const OUTCOME: &[Field] = &[
    ("node", "the node"),
    (
        "done",
        "`asked`, `joined` (the same was asked before, and the answer is yet to come), `withdrawn`, `paused`, `resumed`, `nothing` (there was nothing to do), `refused`, `failed`",
    ),
    ("id", "the id of the request that stands now"),
    ("detail", "what there is to say, for people"),
    ("dryRun", "whether the server has only tried it"),
];

/// The section of the page.
pub(super) fn section() -> String {
    let mut text = HEAD.to_owned();
    let tables = [
        (
            "**A node**: `status` prints a list of them, and with `--watch` (as `upgrade`, `retry` and `rollback` with it) one a line for each change. `explain` \
             prints one, with `headline`, `facts`, `findings` and `runbook` (the runbook's section about `code`, as Markdown) beside these.",
            NODE,
        ),
        ("**An upgrade that has ended**: `history`, a list.", PAST),
        (
            "**What was written**: a list, by `cancel`, `pause`, `resume`, and by `upgrade`, `retry` and `rollback` without `--watch`.",
            OUTCOME,
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
    use crate::expected::Expected;
    use crate::past::Told;
    use crate::render::outcome::{Done, Outcome};
    use crate::render::report;
    use crate::view::NodeView;
    use serde_json::{Value, json};

    /// The fields that are printed, without those that are left out.
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
        let past = Told {
            node: "a".to_owned(),
            past: serde_json::from_value(past).unwrap(),
        };
        assert_eq!(printed(&past), told(PAST));
        let outcome = Outcome {
            id: Some("k-1".to_owned()),
            ..Outcome::new("a", Done::Asked, String::new())
        };
        assert_eq!(printed(&outcome), told(OUTCOME));
    }
}

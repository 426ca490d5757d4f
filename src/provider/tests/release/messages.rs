//! Every message of careen-provider with sample values: its form, and its place in
//! `docs/reasons.md`.

use std::fmt::Display;

use provider::engine::{Answer, Kubelet, Progress, Server, Why};
use provider::hooks::{Limits, NotInPlace, Refusal, Unready};
use provider::manifests::ManifestError;
use provider::run::RunError;
use provider::tls::TlsError;
use upgrade::Version;

use crate::{form, held_against, tree};

fn text(word: &str) -> String {
    format!("<{word}>")
}

/// One of each reason except the agent's own, with names for its fields.
fn every_reason() -> Vec<Why> {
    let version = |text: &str| -> Version { text.parse().unwrap() };
    let (old, new) = (version("v1.35.4"), version("v1.36.3"));
    let (node, cluster, seconds) = (text("node"), text("cluster"), 300);
    vec![
        Why::NoImage {
            version: text("version"),
            machine: text("machine"),
        },
        Why::TwoImages {
            version: text("version"),
            machine: text("machine"),
            first: text("image"),
            second: text("image"),
        },
        Why::BadVersion {
            version: text("version"),
            wrong: text("wrong"),
        },
        Why::BadImage {
            field: text("field"),
            value: text("value"),
            wrong: text("wrong"),
            accepted: text("form"),
        },
        Why::ApiAway {
            cluster: cluster.clone(),
            detail: text("why"),
        },
        Why::OnlyApiAway {
            cluster: cluster.clone(),
            node: node.clone(),
            detail: text("why"),
        },
        Why::ControlPlaneUnknown {
            cluster: cluster.clone(),
        },
        Why::NoNode,
        Why::NodeMissing {
            node: node.clone(),
            cluster,
        },
        Why::NodeMismatch {
            node: node.clone(),
            found: text("id"),
            wanted: text("id"),
        },
        Why::AheadOfControlPlane {
            wanted: new,
            control_plane: Box::new(Server {
                version: old.clone(),
                node: Some(node.clone()),
                machine: Some(text("machine")),
            }),
        },
        Why::StepTooLarge {
            from: old.clone(),
            wanted: version("v1.37.0"),
            allowed: 1,
        },
        Why::WorkersBehind {
            wanted: version("v1.39.0"),
            oldest: Box::new(Kubelet {
                version: old,
                node: node.clone(),
                machine: text("machine"),
            }),
            allowed: 3,
        },
        Why::NotItsTurn {
            group: text("group"),
            allowed: 1,
        },
        Why::ControlPlaneHurt {
            group: text("group"),
            machine: text("machine"),
            node: node.clone(),
        },
        Why::TurnKept {
            group: text("group"),
            machine: text("machine"),
            node: node.clone(),
        },
        Why::LeftOut,
        Why::OthersFailed {
            group: text("group"),
            failed: 1,
            machine: text("machine"),
            allowed: 1,
        },
        Why::OtherRequest {
            node: node.clone(),
            id: text("id"),
        },
        Why::NodePaused {
            node: node.clone(),
            reason: text("reason"),
        },
        Why::NoAnswer {
            node: node.clone(),
            seconds,
        },
        Why::Stalled {
            node: node.clone(),
            phase: text("phase"),
            seconds,
        },
        Why::StalledElsewhere {
            node: node.clone(),
            seconds,
        },
        Why::AgentUnfit {
            node,
            detail: text("why"),
        },
        Why::Unverified {
            detail: text("what is seen"),
        },
        Why::Unwritten {
            detail: text("why"),
        },
        Why::Deleted,
        Why::Paused { what: text("what") },
        Why::Withdrawn,
        Why::NoVersionField { kind: text("kind") },
    ]
}

/// The answers for an upgrade that nothing holds.
fn every_answer() -> [Answer; 4] {
    let progress = Progress {
        phase: text("phase"),
        percent: 40,
        reason: Some(text("what is in the way on the node")),
    };
    [
        Answer::Idle,
        Answer::Untold,
        Answer::Working(progress),
        Answer::Done,
    ]
}

fn every_hold() -> [Unready; 5] {
    [
        Unready::Starting,
        Unready::NoMachine,
        Unready::OtherVersion,
        Unready::NotUpdated,
        Unready::NoOwner {
            kind: "<kind>",
            key: "<namespace>/<name>".to_owned(),
        },
    ]
}

/// When a call is held for this reason.
const fn meaning(unready: &Unready) -> &'static str {
    match unready {
        Unready::Starting => {
            "for a moment after its start; if it stays, the log names the watch that fails"
        }
        Unready::NoMachine => "it runs with `--namespace`, and the Machine is in another one",
        Unready::OtherVersion => {
            "a call was late, or the watch is a moment late; the next call finds the new version"
        }
        Unready::NotUpdated => {
            "the watch is a moment late; if it stays, the caller is not Cluster API ([`--client-ca`](cluster-api.md#settings))"
        }
        Unready::NoOwner { .. } => {
            "it runs with `--namespace`, and that object, which may forbid replacement, is in another one"
        }
    }
}

fn every_refusal() -> Vec<Refusal> {
    vec![
        Refusal::NoHook,
        Refusal::Method,
        Refusal::Slow,
        Refusal::TooLong {
            bytes: Limits::default().body,
        },
        Refusal::TooManyValues { values: 200_000 },
        Refusal::CutShort,
        Refusal::Malformed {
            hook: "UpdateMachine",
            detail: text("why"),
        },
        Refusal::ApiVersion {
            found: text("version"),
        },
        Refusal::Kind {
            found: text("kind"),
            wanted: text("kind"),
        },
        Refusal::Stopping,
    ]
}

/// The errors with which the process ends.
fn every_end() -> Vec<String> {
    let address = "0.0.0.0:9443".parse().unwrap();
    let error = || std::io::Error::other(text("why"));
    let (what, detail) = (text("file"), text("why"));
    vec![
        RunError::Port {
            address,
            error: error(),
        }
        .to_string(),
        RunError::Ended(text("why")).to_string(),
        TlsError::Unusable { what, detail }.to_string(),
        TlsError::Secret {
            name: text("name"),
            error: provider::writes::WriteError::Away(text("why")),
        }
        .to_string(),
        ManifestError::File {
            path: text("file"),
            error: error(),
        }
        .to_string(),
        ManifestError::Render {
            what: "the CRD",
            detail: text("why"),
        }
        .to_string(),
    ]
}

fn both_outcomes() -> [NotInPlace; 2] {
    let list = || text("object, field and why, for each");
    [NotInPlace::Replaced(list()), NotInPlace::Held(list())]
}

#[test]
fn every_message_has_the_form_what_detail_action() {
    let texts = |all: &[&dyn Display]| all.iter().map(ToString::to_string).collect::<Vec<_>>();
    let (reasons, refusals, holds) = (every_reason(), every_refusal(), every_hold());
    let outcomes = both_outcomes();
    let mut all = every_end();
    for one in &reasons {
        all.extend(texts(&[one]));
    }
    all.extend(refusals.iter().map(ToString::to_string));
    all.extend(holds.iter().map(ToString::to_string));
    all.extend(outcomes.iter().map(ToString::to_string));
    for message in all {
        assert_eq!(form::fault(&message), None);
    }
}

/// A message in a cell of a table.
fn cell(message: &impl Display) -> String {
    message.to_string().replace('<', "&lt;")
}

fn catalogue() -> String {
    let mut page = String::from(
        "\n## careen-provider\n\nRendered from `src/provider/src`, with `<...>` for what a message fills in. The table has the\nreasons of careen-provider's conditions, Events and hook answers. On a node's own failure\ncareen-provider passes on the agent's code and sentence, which are above.\n\n| reason | message |\n|---|---|\n",
    );
    for why in every_reason() {
        page += &format!("| `{}` | {} |\n", why.code(), cell(&why));
    }
    for outcome in both_outcomes() {
        page += &format!("| `NotInPlace` | {} |\n", cell(&outcome));
    }
    page += "\n### Normal states\n\n| reason | message |\n|---|---|\n";
    for answer in every_answer() {
        page += &format!("| `{}` | {} |\n", answer.code(), cell(&answer.message()));
    }
    page += "\n### When careen-provider holds a call\n\nCareen-provider holds a call because it does not see an object, or does not see it yet.\n\n\
             | message | when |\n|---|---|\n";
    for hold in every_hold() {
        page += &format!("| {} | {} |\n", cell(&hold), meaning(&hold));
    }
    page += "\n### When it refuses a call\n\nCluster API makes no such call.\n\n| status | message |\n|---|---|\n";
    for refusal in every_refusal() {
        page += &format!("| {} | {} |\n", refusal.status(), cell(&refusal));
    }
    page += "\n### When it cannot run\n\n| message |\n|---|\n";
    for end in every_end() {
        page += &format!("| {} |\n", cell(&end));
    }
    page
}

#[test]
fn the_catalogue_in_the_docs_is_what_the_code_says() {
    let path = tree().join("docs/reasons.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let of_the_agent = page.split("\n## ").next().unwrap().to_owned();
    held_against(&path, &(of_the_agent + &catalogue()));
}

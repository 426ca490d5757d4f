//! What is shipped is what the code says. `CAREEN_BLESS=1 cargo test -p careen-provider --test release` writes it anew.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::{Path, PathBuf};

use provider::engine::{Kubelet, Why};
use provider::hooks::Unready;
use provider::{catalogue, manifests, rights};
use serde_json::Value;
use upgrade::Version;

fn tree() -> PathBuf {
    Path::new(&std::env::var("CARGO_MANIFEST_DIR").unwrap()).join("../..")
}

fn held_against(path: &Path, rendered: &str) {
    if std::env::var_os("CAREEN_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, rendered).unwrap();
    }
    let written = std::fs::read_to_string(path).unwrap_or_default();
    let name = path.file_name().unwrap().to_string_lossy();
    assert_eq!(written, rendered, "{name} has drifted: run make manifests");
}

#[test]
fn the_manifests_in_the_tree_are_those_of_the_code() {
    for (name, text) in manifests::files(manifests::IMAGE).unwrap() {
        held_against(&tree().join("packaging/provider").join(name), &text);
    }
}

/// A setting goes before the flag, so one that ships would keep `--never-replace` from doing anything.
#[test]
fn no_setting_ships_that_an_operators_flag_could_not_change() {
    let files = manifests::files(manifests::IMAGE).unwrap();
    assert!(!files.iter().any(|(_, text)| text.contains("settings:")));
}

#[test]
fn without_a_word_about_it_the_manifests_name_an_image_that_nobody_can_pull() {
    let files = manifests::files(manifests::IMAGE).unwrap();
    let components = &files.last().unwrap().1;
    assert!(
        components.contains("image: registry.invalid/"),
        "{components}"
    );
    assert!(!components.contains(":latest"));
}

/// One of each, with what its fields stand for. The match below sees to it that none is forgotten.
fn every_reason() -> Vec<Why> {
    let text = |word: &str| format!("<{word}>");
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
        },
        Why::BadImage {
            field: text("field"),
            value: text("value"),
            accepted: text("form"),
        },
        Why::ApiAway {
            cluster: cluster.clone(),
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
            wanted: new.clone(),
            control_plane: old.clone(),
        },
        Why::StepTooLarge {
            from: old.clone(),
            wanted: new,
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
        Why::Node {
            code: "<the agent's own>".into(),
            reason: text("the agent's reason"),
        },
        Why::Deleted,
        Why::Paused { what: text("what") },
        Why::Withdrawn,
        Why::NoVersionField { kind: text("kind") },
    ]
}

fn table() -> String {
    let rows = every_reason().into_iter().map(|why| {
        format!(
            "| `{}` | {} |\n",
            why.code(),
            why.to_string().replace('<', "&lt;")
        )
    });
    format!(
        "| reason | message |\n|---|---|\n{}",
        rows.collect::<String>()
    )
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

/// When that is, and what to do.
const fn meaning(unready: &Unready) -> &'static str {
    match unready {
        Unready::Starting => {
            "for a moment behind its start; where it stays, its log names the watch that does not come through"
        }
        Unready::NoMachine => "it runs with `--namespace`, of another one",
        Unready::OtherVersion => {
            "a call was late, or its watch is a moment behind; the next call finds what stands there"
        }
        Unready::NotUpdated => {
            "its watch is a moment behind; where it stays, whoever calls is not Cluster API ([`--client-ca`](#settings))"
        }
        Unready::NoOwner { .. } => {
            "it runs with `--namespace`, of another one; that object may say never to replace"
        }
    }
}

fn holds() -> String {
    let row = |one: Unready| {
        let message = one.to_string().replace('<', "&lt;");
        format!("| {message} | {} |\n", meaning(&one))
    };
    let rows: String = every_hold().map(row).concat();
    format!("| message | when, and what to do |\n|---|---|\n{rows}")
}

/// A page with this between its marks.
fn with(page: &str, mark: &str, table: &str) -> String {
    let (begin, end) = (
        format!("<!-- {mark} -->\n"),
        format!("<!-- end of {mark} -->"),
    );
    let (before, rest) = page.split_once(&begin).expect("a place for the table");
    let (_, after) = rest.split_once(&end).expect("and its end");
    format!("{before}{begin}{table}{end}{after}")
}

#[test]
fn the_reasons_in_the_docs_and_what_holds_a_call_are_those_of_the_code() {
    let path = tree().join("docs/cluster-api.md");
    let page = std::fs::read_to_string(&path).unwrap();
    let page = with(&page, "reasons", &table());
    held_against(&path, &with(&page, "holds", &holds()));
}

#[test]
fn a_pinned_image_is_demanded_by_the_api_server_itself_with_words() {
    let crd = catalogue::manifest().unwrap().to_string();
    assert!(
        crd.contains("x-kubernetes-validations") && crd.contains("image must be pinned"),
        "{crd}"
    );
}

#[test]
fn no_right_reaches_further_than_it_must() {
    let objects = rights::objects("ns");
    let rules = objects
        .iter()
        .flat_map(|object| object["rules"].as_array().cloned().unwrap_or_default());
    for rule in rules {
        let holds =
            |key: &str, word: &str| rule[key].as_array().unwrap().contains(&Value::from(word));
        assert!(
            !holds("verbs", "*") && !holds("apiGroups", "*") && !holds("verbs", "delete"),
            "{rule}"
        );
        let secrets_listed =
            holds("resources", "secrets") && (holds("verbs", "list") || holds("verbs", "watch"));
        assert!(!secrets_listed, "{rule}");
    }
}

#[test]
fn what_may_be_written_in_our_own_namespace_and_of_extension_configs_is_ours_by_name() {
    let writes = ["update", "patch"].map(Value::from);
    let mut named = Vec::new();
    for object in rights::objects("ns") {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let verbs = rule["verbs"].as_array().unwrap();
            let is_one_of_a_kind = ["leases", "secrets", "extensionconfigs"]
                .map(Value::from)
                .contains(&rule["resources"][0]);
            if is_one_of_a_kind && verbs.iter().any(|verb| writes.contains(verb)) {
                named.push(rule["resourceNames"][0].as_str().unwrap().to_owned());
            }
        }
    }
    named.sort_unstable();
    assert_eq!(
        named,
        ["careen-provider", "careen-provider", "careen-provider-tls"]
    );
}

#[test]
fn a_wrong_call_and_a_folder_that_cannot_be_written_end_as_the_docs_say() {
    use upgrade::exit;
    let nowhere: &[&str] = &["manifests", "/dev/null/release"];
    for (arguments, code) in [(&["--sail"][..], exit::USAGE), (nowhere, exit::FAILED)] {
        let mut provider = std::process::Command::new(env!("CARGO_BIN_EXE_careen-provider"));
        let output = provider.args(arguments).output().unwrap();
        assert_eq!(
            output.status.code(),
            Some(i32::from(code)),
            "{arguments:?}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

//! The shipped files match the code. `CAREEN_BLESS=1 cargo test -p careen-provider --test release`
//! rewrites them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod messages;

#[path = "../../../upgrade/tests/form/mod.rs"]
mod form;

use std::path::{Path, PathBuf};

use provider::{catalogue, kinds, manifests, rights};
use serde_json::Value;

/// The memory limit of the one container.
const LIMIT: &str = "          limits:\n            memory: 1Gi\n";

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

#[test]
fn the_infrastructure_package_in_the_tree_is_that_of_the_code() {
    for (name, text) in manifests::infrastructure(manifests::IMAGE).unwrap() {
        held_against(&tree().join("packaging/infrastructure").join(name), &text);
    }
}

#[test]
fn no_release_has_the_kinds_of_hosts_yet() {
    for (name, text) in manifests::files(manifests::IMAGE).unwrap() {
        assert!(!text.contains("careenhost"), "{name} has our kinds");
        assert!(!text.contains("--infrastructure"), "{name} switches it on");
    }
}

/// The API server makes a contract of a CRD out of these labels.
#[test]
fn kinds_that_core_reads_say_which_contract_they_keep() {
    for definition in kinds::definitions().unwrap() {
        let is_cores = definition["spec"]["group"] == kinds::GROUP;
        let labels = &definition["metadata"]["labels"];
        let contract = &labels["cluster.x-k8s.io/v1beta2"];
        assert_eq!(
            contract.as_str(),
            is_cores.then_some(kinds::VERSION),
            "{labels}"
        );
        let (name, plural) = (
            &definition["metadata"]["name"],
            &definition["spec"]["names"],
        );
        let kind = plural["kind"].as_str().unwrap().to_lowercase();
        // Core finds a CRD by computing its name.
        let computed = format!("{kind}s.{}", definition["spec"]["group"].as_str().unwrap());
        assert_eq!(name.as_str(), Some(computed.as_str()));
    }
}

#[test]
fn rights_for_hosts_list_no_secrets_and_delete_first_tokens() {
    for object in rights::of_hosts("ns") {
        for rule in object["rules"].as_array().into_iter().flatten() {
            let has =
                |key: &str, word: &str| rule[key].as_array().unwrap().contains(&Value::from(word));
            assert!(!has("verbs", "*") && !has("resources", "*"), "{rule}");
            let secrets = has("resources", "secrets");
            assert!(
                !secrets || !has("verbs", "list") && !has("verbs", "watch"),
                "{rule}"
            );
            let deletes = has("verbs", "delete");
            let space = object["metadata"]["namespace"].as_str();
            // A policy bounds the right on machines to those of pools.
            let of_machines = has("resources", "machines") || has("resources", "careenmachines");
            let bounded = of_machines || space == Some("careen-registrations");
            assert!(!deletes || bounded, "{rule}");
        }
    }
    for object in rights::host_role("ns", "h") {
        for rule in object["rules"].as_array().into_iter().flatten() {
            assert_eq!(
                rule["resourceNames"].as_array().map(Vec::len),
                Some(1),
                "{rule}"
            );
        }
    }
}

/// `CAREEN_BLESS=1` cannot change this: a lying API server must end the provider, not its node.
#[test]
fn memory_of_the_provider_has_an_end() {
    let name = "runtime-extension-components.yaml";
    let shipped = tree().join("packaging/provider").join(name);
    let shipped = std::fs::read_to_string(shipped).unwrap();
    let files = manifests::files(manifests::IMAGE).unwrap();
    let (_, made) = files.into_iter().find(|file| file.0 == name).unwrap();
    for text in [shipped, made] {
        let is_deployment = |text: &&str| text.contains("kind: Deployment\n");
        let deployment = text.split("---\n").find(is_deployment).unwrap();
        let containers = deployment.matches(" image: ").count();
        let limits = deployment.matches(LIMIT).count();
        assert_eq!((containers, limits), (1, 1), "{deployment}");
    }
}

/// A setting overrides the flag, so a shipped setting would make `--never-replace` ineffective.
#[test]
fn no_setting_ships_that_an_operators_flag_could_not_change() {
    let files = manifests::files(manifests::IMAGE).unwrap();
    assert!(!files.iter().any(|(_, text)| text.contains("settings:")));
}

#[test]
fn default_manifests_name_an_image_that_cannot_be_pulled() {
    let files = manifests::files(manifests::IMAGE).unwrap();
    let named = |(_, text): &(_, String)| text.contains("image: registry.invalid/");
    assert!(files.iter().any(named), "{files:?}");
    assert!(!files.iter().any(|(_, text)| text.contains(":latest")));
}

#[test]
fn crd_requires_a_pinned_image_and_explains_it() {
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
fn write_rules_for_own_objects_are_limited_by_resource_name() {
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
    assert_eq!(named, ["careen-provider", "careen-provider-tls"]);
}

#[test]
fn usage_error_and_unwritable_folder_exit_as_documented() {
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

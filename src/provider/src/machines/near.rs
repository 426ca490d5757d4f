//! Keys on Cluster API's objects that resemble Careen's and do not have the effect that a person
//! may expect: a misspelt key, a label in place of an annotation, or a key of another object.

use std::collections::BTreeMap;

use kube::core::ObjectMeta;
use upgrade::keys::{Keys, Place, Stray};
use upgrade::typo;

use crate::names;

/// The domain of Careen's keys.
const DOMAIN: &str = "careen.dev";

/// The kinds of objects that have keys of Careen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum On {
    /// A Machine.
    Machine,
    /// A Cluster, MachineDeployment or KubeadmControlPlane.
    Owner,
    /// An InfraMachine.
    Infra,
}

/// The provider's own keys: the letters of the name, the key, and where it has an effect.
const OURS: [(&str, &str, &str); 4] = [
    ("retry", names::RETRY, "the annotation of a Machine"),
    ("leaveout", names::LEAVE_OUT, "the annotation of a Machine"),
    (
        "neverreplace",
        names::NEVER_REPLACE,
        "the annotation of a Cluster, MachineDeployment or KubeadmControlPlane",
    ),
    (
        "stateroot",
        names::STATEROOT_LABEL,
        "the label of a Machine",
    ),
];

/// The annotations that have an effect on an object, or that Cluster API brings to it: it copies
/// the metadata of a topology to the Machines too.
const ON_ALL: [&str; 5] = [
    names::PAUSED,
    names::NEVER_REPLACE,
    names::SKIP_REMEDIATION,
    names::UPDATE_IN_PROGRESS,
    names::PENDING_HOOKS,
];
const ON_A_MACHINE: [&str; 5] = [
    names::RETRY,
    names::LEAVE_OUT,
    names::MARK,
    names::ASK,
    names::POOL_VERSION,
];

/// Keys of a request, which only a Node has. On other objects each has this meaning.
const OF_A_NODE: [&str; 6] = [
    upgrade::names::IMAGE,
    upgrade::names::KUBERNETES_VERSION,
    upgrade::names::UPGRADE_ID,
    upgrade::names::SOAK,
    upgrade::names::PLAN,
    upgrade::names::REQUEST,
];

/// What is told of each such key, with its value, and what was probably meant.
#[must_use]
pub fn misses(meta: &ObjectMeta, on: On) -> Vec<String> {
    let mut annotations = meta.annotations.clone().unwrap_or_default();
    let mut labels = meta.labels.clone().unwrap_or_default();
    annotations.retain(|key, _| !has_effect(key, on));
    labels.retain(|key, _| key != names::STATEROOT_LABEL);
    let others = annotations.iter().filter(|(key, _)| is_elsewhere(key, on));
    let others: Vec<_> = others.map(|(key, value)| elsewhere(key, value)).collect();
    annotations.retain(|key, _| !is_elsewhere(key, on));
    let mut strays = Keys::read(&annotations, &labels).strays;
    let beside = [(Place::Annotation, &annotations), (Place::Label, &labels)];
    let ours = beside
        .into_iter()
        .flat_map(|(place, keys)| misspelt(place, keys));
    let ours: Vec<_> = ours
        .filter(|stray| strays.iter().all(|known| known.key != stray.key))
        .collect();
    strays.extend(ours);
    let strays = strays.iter().map(|stray| told(stray, on));
    let held = held(&annotations, on);
    others.into_iter().chain(strays).chain(held).collect()
}

fn has_effect(key: &str, on: On) -> bool {
    let here = match on {
        On::Machine => &ON_A_MACHINE[..],
        On::Owner => &[],
        // Other providers give these two keys of the contract a meaning of their own.
        On::Infra => &[names::ASK, upgrade::names::REQUEST],
    };
    ON_ALL.contains(&key) || here.contains(&key)
}

/// A key that is right, on the wrong kind of object.
fn is_elsewhere(key: &str, on: On) -> bool {
    let is_of_machines = on != On::Machine && ON_A_MACHINE.contains(&key);
    is_of_machines || OF_A_NODE.contains(&key)
}

fn elsewhere(key: &str, value: &str) -> String {
    let what = shown(key, value);
    if key == upgrade::names::REQUEST || key == names::ASK {
        let ask = names::ASK;
        return format!("{what} asks nothing here: {ask} is the annotation of a Machine that asks");
    }
    let owner = match OF_A_NODE.contains(&key) {
        true => "Node",
        false => "Machine",
    };
    format!("{what} has no effect here: it is an annotation of a {owner}")
}

/// The Node's own pause and opt-out, in their exact spelling.
fn held(annotations: &BTreeMap<String, String>, on: On) -> Vec<String> {
    let keys = [upgrade::names::PAUSED, upgrade::names::OPT_OUT];
    let there = keys
        .iter()
        .filter_map(|key| annotations.get_key_value(*key));
    there
        .map(|(key, value)| format!("{} {}", shown(key, value), pauses(on)))
        .collect()
}

fn pauses(on: On) -> String {
    let pause = names::PAUSED;
    match on {
        On::Machine | On::Owner => {
            format!("acts as a pause here: {pause} is the annotation for that")
        }
        On::Infra => format!("has no effect here: set {pause} on the Machine"),
    }
}

/// The provider's own keys in a domain that resembles ours. The core knows only the Node's.
fn misspelt(place: Place, keys: &BTreeMap<String, String>) -> impl Iterator<Item = Stray> {
    let resembles = |key: &&String| {
        let domain = key.split_once('/').map_or("", |(domain, _)| domain);
        domain != DOMAIN && typo::nearest(domain, &[DOMAIN]).is_some() && own(key).is_some()
    };
    let found = keys.iter().filter(move |(key, _)| resembles(key));
    found.map(move |(key, value)| stray(place, key, value))
}

/// Whether a key resembles one of the provider's own, which pauses nothing: `leave_out`.
#[must_use]
pub fn is_own(key: &str) -> bool {
    own(key).is_some()
}

/// The provider's own key with nearly this name, and where it has an effect.
fn own(key: &str) -> Option<(&'static str, &'static str)> {
    let name = key.rsplit('/').next().unwrap_or_default();
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let near = typo::nearest(&letters, &OURS.map(|(word, ..)| word))?;
    let (_, key, of) = OURS.iter().find(|row| row.0 == near)?;
    Some((key, of))
}

fn told(stray: &Stray, on: On) -> String {
    if let Some((key, of)) = own(&stray.key) {
        return format!("{stray} has no effect here: {key} is {of}");
    }
    match stray.meant {
        Some(upgrade::names::PAUSED | upgrade::names::OPT_OUT) => {
            format!("{stray} {}", pauses(on))
        }
        Some(upgrade::names::REQUEST) => {
            let ask = names::ASK;
            format!("{stray} asks nothing here: {ask} is the annotation of a Machine that asks")
        }
        Some(meant) => format!("{stray} has no effect here: {meant} is an annotation of a Node"),
        None => format!("{stray} has no effect here, and Careen has no such key"),
    }
}

fn shown(key: &str, value: &str) -> String {
    stray(Place::Annotation, key, value).to_string()
}

fn stray(place: Place, key: &str, value: &str) -> Stray {
    const SHOWN: usize = 64;
    Stray {
        place,
        key: key.to_owned(),
        value: value.chars().take(SHOWN).collect(),
        meant: None,
        alone: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn of(annotations: Value, labels: Value, on: On) -> Vec<String> {
        let meta = json!({ "annotations": annotations, "labels": labels });
        misses(&serde_json::from_value(meta).unwrap(), on)
    }

    fn annotated(key: &str, on: On) -> String {
        let told = of(json!({ key: "v" }), json!({}), on);
        let [one] = &told[..] else {
            panic!("{key}: {told:?}")
        };
        one.clone()
    }

    #[test]
    fn misspelt_key_of_the_provider_is_told_with_the_right_one() {
        for (key, meant) in [
            ("careen.dev/retyr", names::RETRY),
            ("careen.dev/Retry", names::RETRY),
            ("caren.dev/retry", names::RETRY),
            ("careen.dev/leave_out", names::LEAVE_OUT),
            ("careen.dev/leaveout", names::LEAVE_OUT),
            ("careen.dev/never-replaced", names::NEVER_REPLACE),
            ("careen.dev/state-root", names::STATEROOT_LABEL),
            ("careen.dev/stateroot", names::STATEROOT_LABEL),
        ] {
            for on in [On::Machine, On::Owner, On::Infra] {
                let told = annotated(key, on);
                assert!(
                    told.contains(&format!("{key} (\"v\") has no effect")),
                    "{told}"
                );
                assert!(told.contains(&format!(": {meant} is the ")), "{told}");
            }
        }
    }

    #[test]
    fn right_key_as_a_label_is_told() {
        let told = of(json!({}), json!({ "careen.dev/retry": "1" }), On::Machine);
        assert_eq!(
            told,
            [
                "label careen.dev/retry (\"1\") has no effect here: careen.dev/retry is the annotation of a Machine"
            ]
        );
    }

    #[test]
    fn right_key_on_the_wrong_object_names_the_right_object() {
        let of_a_machine = annotated(names::RETRY, On::Owner);
        assert!(
            of_a_machine.ends_with("an annotation of a Machine"),
            "{of_a_machine}"
        );
        for key in [upgrade::names::IMAGE, upgrade::names::UPGRADE_ID] {
            let told = annotated(key, On::Machine);
            assert!(told.ends_with("an annotation of a Node"), "{told}");
        }
        for (key, on) in [
            (upgrade::names::REQUEST, On::Machine),
            (names::ASK, On::Owner),
            ("cluster.x-k8s.io/inplace-upgrade", On::Machine),
        ] {
            let told = annotated(key, on);
            assert!(
                told.contains(&format!(": {} is the annotation", names::ASK)),
                "{told}"
            );
        }
    }

    #[test]
    fn near_pause_says_whether_it_holds_here() {
        for key in [
            "careen.dev/paused",
            "careen.dev/pause",
            "careen.dev/opt-out",
        ] {
            let told = annotated(key, On::Owner);
            assert!(told.contains("acts as a pause here"), "{told}");
            let told = annotated(key, On::Infra);
            assert!(
                told.contains("set cluster.x-k8s.io/paused on the Machine"),
                "{told}"
            );
        }
    }

    #[test]
    fn keys_that_have_an_effect_and_those_of_others_are_quiet() {
        for key in ON_A_MACHINE {
            assert!(
                of(json!({ key: "v" }), json!({}), On::Machine).is_empty(),
                "{key}"
            );
        }
        for on in [On::Machine, On::Owner, On::Infra] {
            for key in ON_ALL.into_iter().chain([
                "cluster.x-k8s.io/cloned-from-name",
                "cluster.x-k8s.io/cloned-from-groupkind",
                "cluster.x-k8s.io/delete-machine",
                "cluster.x-k8s.io/cluster-name",
                "topology.cluster.x-k8s.io/dry-run",
                "controlplane.cluster.x-k8s.io/kubeadm-cluster-configuration",
                "pre-drain.delete.hook.machine.cluster.x-k8s.io/careful",
                "machinedeployment.clusters.x-k8s.io/revision",
                "example.com/retry",
            ]) {
                let told = of(json!({ key: "v" }), json!({}), on);
                assert!(told.is_empty(), "{key}: {told:?}");
            }
            let labels = json!({ names::STATEROOT_LABEL: "os", names::CLUSTER_LABEL: "c" });
            assert!(of(json!({}), labels, on).is_empty());
        }
    }
}

//! Keys on a Node that are nearly ours: what looks like a pause holds, and the rest is told.
//! `leaving` has the signs that the node is about to go, `request` keys that are nearly a request,
//! and `told` what the Node says of them.
#![allow(clippy::unwrap_used, clippy::panic)]

#[path = "keys/leaving.rs"]
mod leaving;
#[path = "keys/request.rs"]
mod request;
mod scene;
#[path = "keys/told.rs"]
mod told;

use std::collections::BTreeMap;

use scene::*;
use upgrade::keys::{Keys, MOST, Pause, Place, Stray};
use upgrade::names::{self, Kind};
use upgrade::*;

type Pairs = BTreeMap<String, String>;

fn pairs(all: &[(&str, &str)]) -> Pairs {
    let owned = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    all.iter().map(owned).collect()
}

fn annotation(key: &str, value: &str) -> Keys {
    Keys::read(&pairs(&[(key, value)]), &pairs(&[]))
}

fn label(key: &str, value: &str) -> Keys {
    Keys::read(&pairs(&[]), &pairs(&[(key, value)]))
}

/// What it is held by, when it looks like a pause.
fn held_by(keys: &Keys) -> Option<&Stray> {
    match keys.pause.as_ref()? {
        Pause::Looks(stray) => Some(stray),
        Pause::Asked(_) | Pause::Leaves(_) => None,
    }
}

#[test]
fn pause_lookalike_key_holds_as_a_label_and_as_an_annotation() {
    for key in [
        "careen.dev/pause",
        "careen.dev/Paused",
        "careen.dev/PAUSED",
        "careen.dev/pauses",
        "careen.dev/pasued",
        "careen.dev/paussed",
        "careen.dev/pausd",
        "careen.dev/paused.",
        "careen.dev/paused1",
        "careen.dev/paused-by",
        "careen.dev/pausedUntil",
        "careen.dev/upgrade-paused",
        "careen.dev/hold",
        "careen.dev/on-hold",
        "careen.dev/suspended",
        "careen.dev/freeze",
        "careen.dev/stop",
        "careen.dev/maintenance",
        "careen.dev/freezing",
        "careen.dev/stopping",
        "careen.dev/suspending",
        "careen.dev/suspension",
        "careen.dev/postponement",
        "careen.dev/deferral",
        "careen.dev/upgrade-blocker",
        "careen.dev/blocking",
        "careen.dev/lockout",
        "careen.dev/blackout",
        "careen.dev/embargo",
        "careen.dev/moratorium",
        "careen.dev/quarantined",
        "careen.dev/cancelled",
        "Careen.dev/paused",
        "upgrade.careen.dev/paused",
        "node.upgrade.careen.dev/pause",
        "careen.io/paused",
        "careen.de/paused",
        "caren.dev/paused",
        "careeen.dev/paused",
        "careen.k8s.io/pause",
        "careen-paused",
        "careen.dev.paused",
        "careen_paused",
        "careenPaused",
        "pause-careen",
        "careenpaused",
        "pausecareen",
        "caren-paused",
        "carene-paused",
        "example.com/careen-paused",
        "paused.careen.dev/backup",
        "on-hold.careen.io/x",
        "careen-system/paused",
        "careen-agent/paused",
        "careen_agent/hold",
        "caren-agent/paused",
        "careenagent.io/hold",
        "careen-upgrade.example.com/hold",
        "nodes.my-careen.example.com/hold",
        "careen.cluster.x-k8s.io/hold",
        "cluster.x-k8s.io/careen-hold",
        "paused.careen.dev",
        "hold.node.careen.dev",
        "paused.careen.dev-until",
        "example.com/pause-careen-upgrades",
        "example.com/pauseCareenUpgrades",
        "pausecareenupgrades",
        "node-careen-paused",
        "node_careen_hold",
        "careenNodePaused",
        "pause-caren",
        "pause-caren-upgrades",
        "pauseCaren",
        "carenPaused",
        "cluster.x-k8s.io/paused",
        "infrastructure.cluster.x-k8s.io/paused",
    ] {
        for (place, keys) in [
            (Place::Annotation, annotation(key, "backup")),
            (Place::Label, label(key, "backup")),
        ] {
            let stray = held_by(&keys).unwrap_or_else(|| panic!("{place:?} {key}"));
            assert_eq!((stray.place, stray.key.as_str()), (place, key));
            assert_eq!(stray.meant, Some(names::PAUSED), "{key}");
        }
    }
}

#[test]
fn whatever_looks_like_an_opt_out_holds() {
    for (key, value) in [
        ("careen.dev/opt_out", "x"),
        ("careen.dev/optout", "x"),
        ("careen.dev/optOut", ""),
        ("careen.dev/opt-outs", "x"),
        ("careen.dev/opted-out", "x"),
        ("careen.dev/optuot", "x"),
        ("careen.dev/skip", "true"),
        ("careen.dev/disabled", "true"),
        ("careen.dev/exclude", "true"),
        ("careen.dev/ignore", "true"),
        ("careen.dev/no-upgrade", "true"),
        ("careen.dev/do-not-upgrade", "true"),
        ("careen.dev/noupgrade", "true"),
        ("careen.dev/never-drain", "true"),
        ("careen.dev/enabled", "false"),
        ("careen.dev/upgrades", "off"),
        ("careen.dev/auto-update", "No"),
        ("careen.io/opt-out", "x"),
        ("careen", "off"),
        ("careen", "disabled"),
        ("careen.dev", "false"),
        ("careenDisabled", ""),
        ("no-upgrade-careen", ""),
        ("no-careen", "x"),
        ("skip-careen", "true"),
        ("example.com/careen", "off"),
        ("no-careen-upgrades", "x"),
        ("no-careen-here", "x"),
        ("no-caren", "x"),
        ("node-skips-careen-upgrades", "x"),
        ("node-careen-enabled", "false"),
        ("careen-agent.example.com/enabled", "false"),
        ("careen-agent/no-upgrade", "x"),
        ("careen.dev/donotupgrade", "true"),
        ("careen.dev/dontupgrade", "true"),
        ("careen.dev/autoupgrade", "false"),
        ("careen.dev/no-restart", "true"),
        ("careen.dev/do-not-disturb", "true"),
        ("careen.dev/evict", "false"),
        ("careen.dev/restart", "never"),
        ("careen.dev/disruptions", "none"),
        ("careen.dev/upgrade", "not-now"),
        ("careen.dev/upgrade", "don't"),
        ("careen.dev/mode", "do-not-upgrade"),
        ("careen.dev/upgrades", "paused-by-ops"),
        ("careen.dev/upgrades", "please hold"),
        ("careen.dev/rollout", "paused"),
        ("careen.dev/node", "Paused"),
        ("careen.dev/pool", "on hold until Monday"),
        ("careen.dev/leave-out", "disk"),
        ("careen.dev/leaveOut", "disk"),
        ("careen.dev/left-out", ""),
        ("careen.dev/leave-alone", ""),
        ("careen.dev/keep", "true"),
        ("careen.dev/upgrade-exclusion", "x"),
        ("careen.dev/exemption", "x"),
        ("careen.dev/inactive", "true"),
        ("careen.dev/deactivated", "true"),
        ("careen.dev/veto", "x"),
        ("careen.dev/pinned", "x"),
        ("careen.dev/undrainable", "x"),
        ("careen.dev/not-upgradeable", "x"),
        ("careen.dev/non-upgradable", "x"),
        ("careen.dev/upgradeable", "false"),
        ("careen.dev/upgradable", "false"),
        ("careen.dev/drainable", "no"),
        ("careen.dev/evictable", "false"),
        ("careen.dev/interruptible", "never"),
        ("careen.dev/opt-in", "false"),
        ("careen.dev/eligible", "no"),
        ("careen.dev/upgrade", "disallowed"),
        ("careen.dev/upgrade", "prohibited"),
        ("careen.dev/upgrade", "inactive"),
        ("careen.dev/upgrade", "cancel"),
        ("careen.dev/upgrade", "n"),
    ] {
        for keys in [annotation(key, value), label(key, value)] {
            let stray = held_by(&keys).unwrap_or_else(|| panic!("{key}={value}"));
            assert_eq!(stray.meant, Some(names::OPT_OUT), "{key}");
        }
    }
}

#[test]
fn a_label_with_the_very_key_of_the_annotation_holds() {
    for key in [names::PAUSED, names::OPT_OUT] {
        for value in ["", "false", "backup"] {
            let keys = label(key, value);
            assert_eq!(held_by(&keys).unwrap().key, key);
            assert_eq!(keys.opted_out, None);
        }
    }
}

#[test]
fn pause_annotation_gives_the_reason_despite_a_pause_label() {
    let beside = pairs(&[(names::PAUSED, "false")]);
    for why in ["", "false", "an audit"] {
        let keys = Keys::read(&pairs(&[(names::PAUSED, why)]), &beside);
        assert_eq!(keys.pause, Some(Pause::Asked(why.to_owned())));
        assert_eq!(keys.strays.len(), 1, "the label is told: it holds next");
    }
}

#[test]
fn what_is_known_is_no_stray() {
    for row in names::TABLE
        .iter()
        .filter(|row| row.kind == Kind::Annotation)
    {
        let keys = Keys::read(
            &pairs(&[(row.name, "x"), (names::REQUEST, "Scheduled")]),
            &pairs(&[]),
        );
        assert_eq!(keys.strays, [], "{}", row.name);
        assert_eq!(held_by(&keys), None, "{}", row.name);
    }
    let excluded = label(names::EXCLUDED, "true");
    assert_eq!(excluded, Keys::default());
}

#[test]
fn what_is_nearly_ours_and_no_pause_is_told_and_holds_nothing() {
    for (key, meant) in [
        ("careen.dev/images", Some(names::IMAGE)),
        ("careen.dev/Image", Some(names::IMAGE)),
        ("careen.io/image", Some(names::IMAGE)),
        ("careen.dev/upgradeid", Some(names::UPGRADE_ID)),
        (
            "careen.dev/kubernetes_version",
            Some(names::KUBERNETES_VERSION),
        ),
        ("careen.dev/inplace-upgrade", Some(names::REQUEST)),
        (
            "infrastructure.cluster.x-k8s.io/in-place-upgrade",
            Some(names::REQUEST),
        ),
        (
            "infrastructure.cluster.x-k8s.io/inplace-upgrades",
            Some(names::REQUEST),
        ),
        (
            "infrastructure.cluster.x-k8s.io/Inplace-Upgrade",
            Some(names::REQUEST),
        ),
        ("cluster.x-k8s.io/inplace-upgrade", Some(names::REQUEST)),
        ("careen.dev/target-image", Some(names::IMAGE)),
        ("careen.dev/rollback", Some(names::IMAGE)),
        ("careen.dev/k8s-version", Some(names::KUBERNETES_VERSION)),
        ("careen.dev/request-id", Some(names::UPGRADE_ID)),
        ("careen.dev/upgrade", Some(names::REQUEST)),
        ("careen.dev/in-place-update", Some(names::REQUEST)),
        ("careen/image", Some(names::IMAGE)),
        ("careen.io/upgrade", Some(names::REQUEST)),
        ("careen-image", Some(names::IMAGE)),
        ("careen.dev/pool", None),
        ("careen.dev/floor", None),
        ("careen.dev/phase", None),
        ("careen.dev/retry", None),
        ("careen.dev/never-replace", None),
        ("careen.dev/stateroot", None),
        ("careen.dev/upgrading", None),
        ("careen.dev/restarts", None),
        ("node.careen.dev/pool", None),
    ] {
        for keys in [annotation(key, "x"), label(key, "x")] {
            assert_eq!(keys.pause, None, "{key}");
            let [stray] = &keys.strays[..] else {
                panic!("{key} is not told: {:?}", keys.strays)
            };
            assert_eq!((stray.key.as_str(), stray.meant), (key, meant));
        }
    }
    assert_eq!(
        label(names::REQUEST, "Scheduled").strays[0].meant,
        Some(names::REQUEST)
    );
}

/// Words that begin or end like one for a pause, and values that say something else.
#[test]
fn words_that_only_resemble_a_pause_hold_nothing() {
    for (key, value) in [
        ("careen.dev/exclusive", "true"),
        ("careen.dev/maintained-by", "storage"),
        ("careen.dev/unlocked", "true"),
        ("careen.dev/uncordon", "true"),
        ("careen.dev/offset", "3"),
        ("careen.dev/updated-at", "never"),
        ("careen.dev/last-upgraded", "none"),
        ("careen.dev/upgradeable", "true"),
        ("careen.dev/drainable", "yes"),
        ("careen.dev/mode", "non-critical"),
        ("careen.dev/upgrade", "n-1"),
        ("careen.dev/pool", "blockchain"),
        ("careen.dev/owner", "acme-holdings"),
        ("careen.dev/owner", "waite"),
        ("careen.dev/owner", "keeper"),
        ("careen.dev/cpu", "pinned"),
        ("careen.dev/license", "inactive"),
        ("careen.dev/zone", "quarantine"),
        ("careen.dev/data", "keep"),
    ] {
        for keys in [annotation(key, value), label(key, value)] {
            assert_eq!(keys.pause, None, "{key}={value}");
        }
    }
}

#[test]
fn pause_that_is_a_taint_holds_and_names_its_removal() {
    for key in [
        names::PAUSED,
        names::OPT_OUT,
        "careen.dev/hold",
        "careen.io/pause",
    ] {
        let keys = Keys::of(&pairs(&[]), &pairs(&[]), &pairs(&[(key, "")]));
        let stray = held_by(&keys).unwrap_or_else(|| panic!("{key}"));
        assert_eq!(stray.removal("n"), format!("kubectl taint node n {key}-"));
    }
    let foreign = pairs(&[
        ("node.kubernetes.io/unschedulable", ""),
        ("dedicated", "gpu"),
    ]);
    assert_eq!(
        Keys::of(&pairs(&[]), &pairs(&[]), &foreign),
        Keys::default()
    );
}

#[test]
fn what_others_write_on_nodes_is_none_of_ours() {
    for key in [
        "paused",
        "hold",
        "kubernetes.io/hostname",
        "node.kubernetes.io/exclude-disruption",
        "node.kubernetes.io/exclude-from-external-load-balancers",
        "node-role.kubernetes.io/control-plane",
        "example.com/leave-out",
        "cluster.x-k8s.io/leave-out",
        "cluster.x-k8s.io/cluster-name",
        "cluster.x-k8s.io/owner-name",
        "cluster.x-k8s.io/labels-from-machine",
        "machine.cluster.x-k8s.io/exclude-node-draining",
        "node.cluster.x-k8s.io/pool",
        "cluster-autoscaler.kubernetes.io/scale-down-disabled",
        "karpenter.sh/do-not-disrupt",
        "v1beta2.k8sd.io/in-place-upgrade-to",
        "career.example/hold",
        "example.com/careen",
        "careen.example/pool",
        "careen-agent.example/pool",
        "careen-pool",
        "node-careen-pool",
        "pool.careen.example",
        "career-portal.example/hold",
        "node-career-hold",
        "holdCarmenBack",
        "careening",
        "careens",
        "career-hold",
        "carmen-hold",
        "example.com/careens",
        "example.com/no-upgrade",
        "scared-paused",
    ] {
        assert_eq!(annotation(key, "x"), Keys::default(), "{key}");
        assert_eq!(label(key, "x"), Keys::default(), "{key}");
    }
    for key in ["example.com/upgrade", "upgrade", "example.com/state", "job"] {
        assert_eq!(annotation(key, "Scheduled"), Keys::default(), "{key}");
    }
}

#[test]
fn stray_keys_are_capped_and_include_the_one_that_holds() {
    let many = (0..5000).map(|at| (format!("careen.dev/a{at}"), "x".repeat(10_000)));
    let mut all: Pairs = many.collect();
    all.insert("careen.dev/zz-hold".to_owned(), "y".repeat(100_000));
    let keys = Keys::read(&all, &pairs(&[]));
    assert_eq!(keys.strays.len(), MOST);
    assert_eq!(keys.strays.first(), held_by(&keys));
    assert!(keys.pause.unwrap().why().len() < 300);
}

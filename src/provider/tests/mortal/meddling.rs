//! Others write to the objects that the provider is about to write.

use provider::names;
use serde_json::{Value, json};
use upgrade::names as node_names;

use crate::agent::Manner;
use crate::scene::{NEW, NODE, Scene, annotate, node};

/// The provider has decided on the Node as it was, and marks the Machine first.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn manual_request_made_just_before_the_write_is_not_overwritten() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.small.meddle(|small| {
        small.change("nodes", NODE, |node| {
            let request = [
                (node_names::REQUEST, json!(node_names::REQUEST_SCHEDULED)),
                (
                    node_names::IMAGE,
                    json!(format!("ostree:site:os@{}", "c".repeat(64))),
                ),
                (node_names::KUBERNETES_VERSION, json!(NEW)),
                (node_names::UPGRADE_ID, json!("by-hand")),
            ];
            annotate(node, &request);
        });
    });
    scene.update();
    let _life = scene.provider();
    scene
        .until("left alone", |scene| scene.is_left_alone())
        .await;
    let taken = scene.small.taken();
    assert_eq!(taken.first().map(String::as_str), Some("by-hand"));
    assert_eq!(taken.len(), 2, "and ours when that had ended: {taken:?}");
}

/// A leftover of a person's `--soak`. The agent would refuse each request with a malformed one.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn request_and_withdrawal_both_clear_a_leftover_soak() {
    for left in ["86400", "a day"] {
        let scene = Scene::new(Manner::Dawdles).await;
        scene.soak(left);
        scene.annotate();
        let _life = scene.provider();
        scene.until("asked", Scene::node_is_asked).await;
        assert_eq!(scene.soaks(), None);

        scene.soak(left);
        scene.withdraw();
        scene
            .until("taken back", |scene| !scene.node_is_asked())
            .await;
        assert_eq!(scene.soaks(), None);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_recreated_just_before_the_write_is_decided_on_again() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.small.meddle(|small| {
        small.remove("nodes", NODE);
        let mut other = node();
        other["spec"]["providerID"] = json!("test://other");
        small.put("nodes", other);
    });
    scene.annotate();
    let _life = scene.provider();
    scene
        .until("told whose Node it is", |scene| {
            scene.condition(names::CONDITION)["reason"] == "NodeMismatch"
        })
        .await;
    assert_eq!(scene.small.taken(), Vec::<String>::new());
    assert!(!scene.node_is_asked());
}

/// Core deletes the InfraMachine before the Machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_withdraws_the_request_without_an_infra_machine() {
    let scene = Scene::new(Manner::Dawdles).await;
    scene.annotate();
    let _life = scene.provider();
    scene.until("asked", Scene::node_is_asked).await;
    scene.small.remove("hostmachines", "m");
    scene.small.change("machines", "m", |machine| {
        machine["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    scene
        .until("taken back and unmarked", |scene| {
            !scene.node_is_asked() && !scene.is_marked()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deletion_withdraws_the_request_despite_an_unreadable_image() {
    let scene = Scene::new(Manner::Dawdles).await;
    scene.annotate();
    let _life = scene.provider();
    scene.until("asked", Scene::node_is_asked).await;
    scene.small.change("hostmachines", "m", |infra| {
        infra["spec"]["osImage"] = json!("ostree:");
    });
    scene.small.change("machines", "m", |machine| {
        machine["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    });
    scene
        .until("taken back and unmarked", |scene| {
            !scene.node_is_asked() && !scene.is_marked()
        })
        .await;
}

/// The second withdrawal reports the same as the first. Between them the InfraMachine got other
/// reports.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_withdrawn_twice_gives_ready_back_twice() {
    let scene = Scene::new(Manner::Dawdles).await;
    let _life = scene.provider();
    for _ in 0..2 {
        scene.annotate();
        scene
            .until("asked", |scene| {
                scene.node_is_asked()
                    && scene.condition(names::READY)["reason"] == names::READY_REASON
            })
            .await;
        scene.withdraw();
        scene
            .until("given back", |scene| {
                let is_ready = scene.condition(names::READY)["status"] == "True";
                let is_told = scene.condition(names::CONDITION)["reason"] == "Withdrawn";
                scene.is_left_alone() && !scene.node_is_asked() && is_ready && is_told
            })
            .await;
    }
}

/// The provider's ExtensionConfig with these settings.
fn extension(settings: Value) -> Value {
    json!({
        "apiVersion": "runtime.cluster.x-k8s.io/v1beta2", "kind": "ExtensionConfig",
        "metadata": { "name": names::MANAGER }, "spec": { "settings": settings },
    })
}

/// If the hooks are open to every pod, anybody can make a call. Here nobody else ever calls.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn forged_call_neither_chooses_an_image_nor_holds_an_upgrade() {
    let image = |word: &str| format!("ostree:site:os@{}", word.repeat(64));
    // What the InfraMachine names, what the call names, and what is asked for. The catalogue has b.
    let cases = [
        (None, image("e"), image("b")),
        (Some(image("d")), image("e"), image("d")),
        (Some(image("d")), String::new(), image("d")),
    ];
    for (named, lie, wanted) in cases {
        let scene = Scene::new(Manner::Upgrades).await;
        scene.small.put("extensionconfigs", extension(json!({})));
        scene.small.change("hostmachines", "m", |infra| {
            infra["spec"] = json!({ "osImage": named });
        });
        scene.update_with_a_lie(&lie);
        let _life = scene.provider();
        scene
            .until("upgraded despite the calls", |scene| {
                let asked = scene.asked_for();
                let is_wanted = asked.as_ref().is_none_or(|asked| *asked == wanted);
                assert!(is_wanted, "{asked:?} in place of {wanted}");
                scene.small.taken().len() == 1
            })
            .await;
    }
}

/// Which fields name an image may be a setting of the ExtensionConfig, which a call may contain or
/// omit.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn call_without_the_infra_machines_image_requests_no_other() {
    let image = format!("ostree:site:os@{}", "e".repeat(64));
    let by_setting = json!({ "imageFields": "system.image" });
    let by_flag = json!({ "osImage": image });
    let cases = [
        (by_flag, json!({})),
        (json!({ "system": { "image": image } }), by_setting),
    ];
    for (spec, settings) in cases {
        let scene = Scene::new(Manner::Upgrades).await;
        scene.small.put("extensionconfigs", extension(settings));
        scene.small.change("hostmachines", "m", |infra| {
            infra["spec"] = spec;
        });
        scene.update_with_a_lie("");
        let _life = scene.provider();
        scene
            .until("asked for the InfraMachine's image", |scene| {
                let asked = scene.asked_for();
                let is_wanted = asked.as_ref().is_none_or(|asked| *asked == image);
                assert!(is_wanted, "{asked:?}");
                asked.is_some()
            })
            .await;
    }
}

/// Ready belongs to its owner, whose reason is more important to a person than the provider's
/// progress.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn foreign_ready_false_is_neither_overwritten_nor_cleared() {
    let scene = Scene::new(Manner::Upgrades).await;
    let theirs = json!({ "type": names::READY, "status": "False", "reason": "DiskFailing", "message": "sda" });
    scene.small.change("hostmachines", "m", |infra| {
        infra["status"]["conditions"] = json!([theirs]);
    });
    scene.annotate();
    let _life = scene.provider();
    scene
        .until("upgraded", |scene| {
            assert_eq!(scene.condition(names::READY), theirs);
            scene.version() == NEW && scene.is_left_alone()
        })
        .await;
    assert_eq!(scene.condition(names::READY), theirs);
}

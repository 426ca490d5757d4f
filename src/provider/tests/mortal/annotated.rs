//! The annotation flow if there is little to do, or no InfraMachine to report on.

use provider::names;
use serde_json::json;

use crate::agent::Manner;
use crate::scene::{MACHINE, NEW, Scene};

/// Another Machine of the same MachineDeployment.
const OTHER: &str = "m2";

/// Two Machines with requests at the same time.
async fn two_asked() -> Scene {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.second(OTHER, "n2", Manner::Upgrades);
    for machine in [MACHINE, OTHER] {
        scene.asks(machine, true);
    }
    scene
}

/// The state before anybody annotated the Machine: it has the version, and no report of the
/// provider.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_is_not_asked_when_its_infra_machine_has_the_version() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.small.change("hostmachines", "m", |infra| {
        infra["status"]["version"] = json!(NEW);
    });
    scene.annotate();
    let _life = scene.provider();
    scene.until("arrived", Scene::is_left_alone).await;
    assert_eq!(scene.small.taken(), Vec::<String>::new());
}

/// Somebody changed the version back, or a replica died between two writes. The provider's report
/// stays until it is true.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn machine_with_our_false_condition_is_asked_despite_versions() {
    let scene = Scene::new(Manner::Upgrades).await;
    let ours = json!({ "type": names::CONDITION, "status": "False", "reason": "CheckFailed", "message": "" });
    scene.small.change("hostmachines", "m", |infra| {
        infra["status"] = json!({ "version": NEW, "conditions": [ours] });
    });
    scene.annotate();
    let _life = scene.provider();
    scene
        .until("told", |scene| {
            scene.is_left_alone() && scene.condition(names::CONDITION)["status"] == "True"
        })
        .await;
    assert_eq!(scene.small.taken().len(), 1);
}

/// It never got a mark, which would make the provider return.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_held_and_is_withdrawn_is_not_left_standing_as_held() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.empty_catalogue();
    scene.annotate();
    let _life = scene.provider();
    let told = |reason: &'static str| {
        move |scene: &Scene| scene.condition(names::CONDITION)["reason"] == reason
    };
    scene.until("held", told("NoImage")).await;
    scene.withdraw();
    scene.until("withdrawn", told("Withdrawn")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn node_regains_its_health_check_after_losing_its_infra_machine() {
    let scene = Scene::new(Manner::Upgrades).await;
    scene.annotate();
    let _life = scene.provider();
    scene.until("asked", Scene::node_is_asked).await;
    assert!(scene.is_marked());
    scene.small.remove("hostmachines", "m");
    scene
        .until("unmarked", |scene| {
            !scene.is_marked() && !scene.skips_remediation()
        })
        .await;
    assert_eq!(scene.small.taken().len(), 1, "its work was not broken off");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn annotations_stay_until_the_last_machine_of_a_group_arrives() {
    let scene = two_asked().await;
    let _life = scene.provider();
    scene
        .until("both arrived", |scene| {
            let both = [MACHINE, OTHER];
            if both.iter().any(|machine| !scene.is_asked(machine)) {
                let versions = both.map(|machine| scene.version_of(machine));
                assert_eq!(versions, [json!(NEW), json!(NEW)]);
            }
            both.iter().all(|machine| scene.leaves_alone(machine))
        })
        .await;
}

/// A Machine that keeps the annotation would reboot, without a request, at the next change of its
/// version.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arrived_machine_is_released_when_the_last_other_is_withdrawn() {
    let scene = two_asked().await;
    scene.small.change("machines", OTHER, |machine| {
        machine["spec"]["version"] = json!("v1.36.9");
    });
    // They arrive when their cluster is visible. A Machine that is processed earlier is processed
    // again only after a while, whatever has happened.
    let both = [MACHINE, OTHER].map(|name| scene.small.get("machines", name).unwrap());
    for name in [MACHINE, OTHER] {
        scene.small.remove("machines", name);
    }
    let _life = scene.provider();
    scene
        .until("seen", |scene| scene.small.is_watched("nodes"))
        .await;
    for machine in both {
        scene.small.put("machines", machine);
    }
    scene
        .until("arrived", |scene| {
            scene.version() == NEW && !scene.is_marked()
        })
        .await;
    // Enough time to remove it, if this one alone were enough.
    for _ in 0..50 {
        scene.small.changed().await;
        assert!(scene.is_asked(MACHINE), "the other has not arrived");
    }
    scene.asks(OTHER, false);
    scene.until("let go", Scene::is_left_alone).await;
}

//! Whether a change can be made in place: what is accepted, what is not, and why.

use futures::FutureExt;
use provider::engine::Machine;
use provider::machines::{ClusterFacts, ControlPlaneFacts, DeploymentFacts, Key};
use provider::settings::Settings;
use provider::world::World;
use serde_json::{Value, json};
use upgrade::report::Answer;

use crate::scene::*;

fn patches(response: &Value) -> usize {
    response
        .as_object()
        .unwrap()
        .keys()
        .filter(|key| key.ends_with("Patch"))
        .count()
}

#[tokio::test]
async fn version_change_is_covered_completely_by_both_patch_types() {
    for form in ["JSONPatch", "JSONMergePatch"] {
        for hook in ["canupdatemachine", "canupdatemachineset"] {
            let mut sample = sample(hook);
            sample.request["settings"] = json!({ "patchType": form, "imageFields": "osRef" });
            // In the capture, the InfraMachine's own field does not name an image for Careen.
            for side in ["current", "desired"] {
                if let Some(field) = sample.request.pointer_mut(&format!(
                    "/{side}/infrastructureMachineTemplate/spec/template/spec/osRef"
                )) {
                    *field = json!(image(if side == "current" { 'a' } else { 'b' }));
                }
            }
            let response = call_with(&world().0, &sample);
            assert_eq!(response["status"], "Success", "{response}");
            for (key, current, desired) in pairs(&sample.request) {
                assert_eq!(
                    patched(&response, key, &current),
                    desired["spec"],
                    "{form} {key}"
                );
            }
        }
    }
}

#[tokio::test]
async fn feature_gate_dropped_in_v1_36_is_covered_and_removed() {
    for form in ["JSONPatch", "JSONMergePatch"] {
        let mut sample = sample("canupdatemachine");
        sample.request["settings"] = json!({ "patchType": form });
        sample.request["current"]["machine"]["spec"]["version"] = json!("v1.35.0");
        sample.request["desired"]["machine"]["spec"]["version"] = json!("v1.36.0");
        sample.request["desired"]["bootstrapConfig"]["spec"]["clusterConfiguration"]["featureGates"] =
            json!({});
        let (world, _) = world();
        catalogue(&world, vec![entry("v1.36.0", 'c')]);
        let response = call_with(&world, &sample);
        assert_eq!(response["status"], "Success", "{response}");
        for (key, current, desired) in pairs(&sample.request) {
            assert_eq!(
                patched(&response, key, &current),
                desired["spec"],
                "{form} {key}"
            );
        }
    }
}

#[tokio::test]
async fn failure_domain_change_is_named_and_left_to_core() {
    let mut sample = sample("canupdatemachine");
    sample.request["desired"]["machine"]["spec"]["failureDomain"] = json!("b");
    let response = call_with(&world().0, &sample);
    assert_eq!(
        (response["status"].as_str(), patches(&response)),
        (Some("Success"), 0)
    );
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("Machine spec/failureDomain"),
        "{response}"
    );
}

#[tokio::test]
async fn never_replace_holds_with_the_field_and_the_reason() {
    let mut sample = sample("canupdatemachineset");
    sample.request["desired"]["bootstrapConfigTemplate"]["spec"]["template"]["spec"]["joinConfiguration"]
        ["nodeRegistration"]["taints"] = json!([]);
    let holding = Settings {
        never_replace: true,
        image_fields: vec!["osRef".to_owned()],
        ..Settings::default()
    };
    let response = call_with(&world_with(holding).0, &sample);
    assert_eq!(
        (response["status"].as_str(), patches(&response)),
        (Some("Failure"), 0)
    );
    let message = response["message"].as_str().unwrap();
    assert!(
        message.contains(
            "bootstrap template spec/template/spec/joinConfiguration/nodeRegistration/taints"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn the_nearest_word_about_replacing_counts() {
    let mut sample = sample("canupdatemachineset");
    sample.request["desired"]["machineSet"]["spec"]["template"]["spec"]["failureDomain"] =
        json!("b");
    sample.request["desired"]["machineSet"]["metadata"]["labels"]["cluster.x-k8s.io/deployment-name"] =
        json!("n1");
    let (world, _) = world();
    let status = |sample: &Sample| {
        call_with(&world, sample)["status"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(status(&sample), "Success");
    sample.request["settings"] = json!({ "neverReplace": "true" });
    assert_eq!(status(&sample), "Failure");
    let cluster = |word: &str| ClusterFacts {
        never_replace: Some(word.to_owned()),
        ..ClusterFacts::default()
    };
    world
        .machines
        .put_cluster((Key::new("t1", "c1"), cluster("false")));
    assert_eq!(status(&sample), "Success");
    let deployment = DeploymentFacts {
        never_replace: Some("True, I think".to_owned()),
        ..DeploymentFacts::default()
    };
    world
        .machines
        .put_deployment((Key::new("t1", "n1"), deployment));
    assert_eq!(
        status(&sample),
        "Failure",
        "a word that cannot be read deletes nothing"
    );
}

/// Core calls for every namespace. One that is not watched may have a never-replace setting.
#[tokio::test]
async fn unseen_cluster_or_machine_deployment_blocks_replacement() {
    let mut sample = sample("canupdatemachineset");
    sample.request["desired"]["machineSet"]["spec"]["template"]["spec"]["failureDomain"] =
        json!("b");
    let (world, _) = world();
    assert_eq!(call_with(&world, &sample)["status"], "Success", "replaced");
    let unseen = |world: &World, what: &str| {
        let response = call_with(world, &sample);
        assert_eq!(response["status"], "Failure", "{what} is not seen");
        let message = response["message"].as_str().unwrap();
        assert!(
            message.contains(&format!("does not see {what}")),
            "{message}"
        );
    };
    world.machines.replace_deployments(Vec::new());
    unseen(&world, "MachineDeployment t1/s1");
    world.machines.replace_clusters(Vec::new());
    unseen(&world, "Cluster t1/c1");
}

#[tokio::test]
async fn never_replace_of_a_control_plane_applies_to_its_machines() {
    let mut sample = sample("canupdatemachine");
    for side in ["current", "desired"] {
        sample.request[side]["machine"]["metadata"]["labels"]["cluster.x-k8s.io/control-plane"] =
            json!("");
    }
    sample.request["desired"]["machine"]["spec"]["failureDomain"] = json!("b");
    let (world, _) = world();
    let cluster = ClusterFacts {
        control_plane: "owner".to_owned(),
        ..ClusterFacts::default()
    };
    world.machines.put_cluster((Key::new("t1", "c1"), cluster));
    assert_eq!(call_with(&world, &sample)["status"], "Success", "replaced");
    let owner = ControlPlaneFacts {
        never_replace: Some("true".to_owned()),
        ..ControlPlaneFacts::default()
    };
    world
        .machines
        .put_control_plane((Key::new("t1", "owner"), owner));
    assert_eq!(call_with(&world, &sample)["status"], "Failure", "held");
}

#[tokio::test]
async fn control_plane_rollout_is_held_before_it_meets_a_hurt_member() {
    let (world, state) = world();
    let sample = sample("canupdatemachine");
    assert_eq!(call_with(&world, &sample)["status"], "Success");
    world.machines.put(Machine {
        name: "hurt".into(),
        uid: "uid-hurt".into(),
        provider_id: Some("in-memory://hurt".into()),
        node: Some("node-2".into()),
        control_plane: true,
        deployment: None,
        ..worker()
    });
    let mut hurt = answered("v1.34.2", "r7", Answer::Failed);
    (hurt.name, hurt.cordoned) = ("node-2".into(), true);
    hurt.provider_id = Some("in-memory://hurt".into());
    if let Some(status) = &mut hurt.reply.status {
        status.phase = "Halted".to_owned();
    }
    state.put(hurt);
    let response = call_with(&world, &sample);
    assert_eq!(
        (response["status"].as_str(), patches(&response)),
        (Some("Failure"), 0)
    );
    let message = response["message"].as_str().unwrap();
    assert!(message.contains("has an unhealthy member"), "{message}");
}

/// The agent refuses its node, so a rollout that started with it would stop there.
#[tokio::test]
async fn control_plane_is_left_to_core_or_held_under_never_replace() {
    let (world, _) = world_with(Settings::default());
    let mut sample = sample("canupdatemachine");
    for label in [true, false] {
        if !label {
            for side in ["current", "desired"] {
                sample.request[side]["machine"]["metadata"]["labels"] = json!({});
            }
        }
        sample.request["settings"] = json!({});
        let response = call_with(&world, &sample);
        assert_eq!(
            (response["status"].as_str(), patches(&response)),
            (Some("Success"), 0),
            "{response}"
        );
        let message = response["message"].as_str().unwrap();
        assert!(message.contains("--control-planes"), "{message}");
        sample.request["settings"] = json!({ "neverReplace": "true" });
        assert_eq!(call_with(&world, &sample)["status"], "Failure");
    }
    let workers = set_with_images();
    let response = call_with(&world, &workers);
    assert!(patches(&response) > 0, "{response}");
}

#[tokio::test]
async fn control_plane_is_held_if_a_kubelet_would_be_unsupported() {
    let (world, state) = world();
    let mut nobodys = node("v1.30.9");
    nobodys.name = "node-2".into();
    state.put(nobodys);
    let response = call_with(&world, &sample("canupdatemachine"));
    assert_eq!(response["status"], "Success", "no Machine has that Node");
    let mut old = node("v1.30.9");
    old.resource_version = "2".into();
    state.put(old);
    let response = call_with(&world, &sample("canupdatemachine"));
    assert_eq!(response["status"], "Failure");
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("would leave the kubelet of Node node-1 at v1.30.9"),
        "{response}"
    );
}

#[tokio::test]
async fn a_version_without_an_image_holds() {
    let (world, _) = world();
    catalogue(&world, Vec::new());
    let response = call_with(&world, &sample("canupdatemachine"));
    assert_eq!(response["status"], "Failure");
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("no ImageCatalogue has an entry for v1.34.3"),
        "{response}"
    );
}

fn set_with_images() -> Sample {
    let mut sample = sample("canupdatemachineset");
    sample.request["settings"] = json!({ "imageFields": "osRef" });
    for (side, word) in [("current", 'a'), ("desired", 'b')] {
        sample.request[side]["infrastructureMachineTemplate"]["spec"]["template"]["spec"]["osRef"] =
            json!(image(word));
    }
    sample
}

#[tokio::test]
async fn an_image_in_the_inframachine_needs_no_catalogue() {
    let (world, _) = world();
    catalogue(&world, Vec::new());
    assert_eq!(call_with(&world, &set_with_images())["status"], "Success");
}

#[tokio::test]
async fn workers_are_held_when_ahead_or_when_their_cluster_is_away() {
    let (world, state) = world();
    let mut ahead = set_with_images();
    ahead.request["desired"]["machineSet"]["spec"]["template"]["spec"]["version"] =
        json!("v1.35.0");
    let response = call_with(&world, &ahead);
    assert_eq!(response["status"], "Failure");
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("newer than the control plane's v1.34.3"),
        "{response}"
    );
    let doubted = state.until_doubted().now_or_never();
    assert!(doubted.is_some(), "it was the server's own word");
    state.away("connection refused");
    let response = call_with(&world, &set_with_images());
    assert_eq!(response["status"], "Failure");
    assert!(
        response["message"].as_str().unwrap().contains("is away"),
        "{response}"
    );
}

#[tokio::test]
async fn a_mistyped_setting_holds_instead_of_guessing() {
    let mut sample = sample("canupdatemachine");
    sample.request["settings"] = json!({ "patchType": "StrategicMerge" });
    assert_eq!(call_with(&world().0, &sample)["status"], "Failure");
}

#[tokio::test]
async fn a_change_of_the_machine_itself_is_not_taken_for_an_image() {
    let mut sample = sample("canupdatemachine");
    sample.request["desired"]["infrastructureMachine"]["spec"]["backend"]["inMemory"]["vm"]["provisioning"]
        ["startupDuration"] = json!("9s");
    let response = call_with(&world().0, &sample);
    assert_eq!(patches(&response), 0);
    assert!(
        response["message"]
            .as_str()
            .unwrap()
            .contains("startupDuration"),
        "{response}"
    );
}

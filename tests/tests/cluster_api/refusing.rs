//! InfraMachines that reject writes, as an infrastructure provider's own webhook may make them do.

use anyhow::{Result, ensure};
use careen_tests::cluster::PATIENCE;
use careen_tests::core_log;
use careen_tests::events;
use careen_tests::fleet::images::LATEST;
use careen_tests::machines::{self, Machine};
use careen_tests::world::{self, World};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use testkit::cluster_api::infrastructure::{GROUP, machine_kind};
use testkit::cluster_api::objects;

use crate::VERSION;
use crate::scene::{ONE_AT_A_TIME, Scene};

/// The number of core's attempts after which the rollout counts as held.
const TRIED: usize = 5;

const ADMISSION: &str = "admissionregistration.k8s.io/v1";

/// A rule for the InfraMachines of one Cluster, with the Cluster's name.
struct Rule {
    name: &'static str,
    resource: &'static str,
    holds: &'static str,
    message: &'static str,
}

impl Rule {
    async fn apply(&self, world: &World) -> Result<()> {
        let metadata = json!({ "name": self.name });
        let resource = json!({
            "apiGroups": [GROUP], "apiVersions": ["*"], "resources": [self.resource], "operations": ["UPDATE"],
        });
        let policy = json!({
            "apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
            "spec": {
                "matchConstraints": { "resourceRules": [resource] },
                "validations": [{ "expression": self.holds, "message": self.message }],
            },
        });
        objects::apply(&world.client, &policy).await?;
        let of_cluster = json!({ "matchLabels": { "kubernetes.io/metadata.name": self.name } });
        let binding = json!({
            "apiVersion": ADMISSION, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
            "spec": {
                "policyName": self.name, "validationActions": ["Deny"], "matchResources": { "namespaceSelector": of_cluster },
            },
        });
        objects::apply(&world.client, &binding).await?;
        Ok(())
    }

    async fn repeal(&self, world: &World) -> Result<()> {
        let kind = objects::kind(ADMISSION, "ValidatingAdmissionPolicyBinding")?;
        let api = objects::api(&world.client, &kind, None);
        api.delete(self.name, &DeleteParams::default()).await?;
        Ok(())
    }

    /// Applies the rule, and waits until the API server rejects this change of an InfraMachine
    /// because of it.
    async fn comes_into_force(&self, world: &World, scene: &Scene, change: Value) -> Result<()> {
        self.apply(world).await?;
        let api = objects::api(&world.client, &machine_kind(), Some(self.name));
        let dry = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        for name in scene.before.iter().map(Machine::name) {
            let refused = || async {
                let change = Patch::Merge(&change);
                let answer: kube::Result<DynamicObject> = match self.resource.split_once('/') {
                    Some((_, part)) => api.patch_subresource(part, &name, &dry, &change).await,
                    None => api.patch(&name, &dry, &change).await,
                };
                let said = answer.err().map(|error| error.to_string());
                let said = said.unwrap_or_default();
                ensure!(said.contains(self.message), "{said:?}");
                Ok(())
            };
            objects::until("the rule in force", PATIENCE, refused).await?;
        }
        Ok(())
    }
}

/// Core first asks careen-provider, then hands the Machine over, and only then finds that its
/// InfraMachine does not change.
#[test]
fn infra_machine_refusing_its_image_holds_the_rollout() -> Result<()> {
    const RULE: Rule = Rule {
        name: "refusing",
        resource: "rigmachines",
        holds: "!has(object.spec.osImage)",
        message: "this host keeps its image",
    };
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, RULE.name, 2, ONE_AT_A_TIME).await?;
        let image = json!({ "osImage": LATEST.reference() });
        RULE.comes_into_force(world, &scene, json!({ "spec": image }))
            .await?;
        scene.cluster.template("named", image).await?;
        let named = json!({ "version": LATEST.version, "infrastructureRef": { "name": "named" } });
        scene.ask(named).await?;
        let refused = ["MachineSet=\"refusing/", RULE.message];
        core_log::until(world, &refused, TRIED).await?;
        scene.stands_still(world).await?;
        let all = machines::all(&world.client, RULE.name).await?;
        let updating = all.iter().filter(|machine| machine.is("Updating"));
        let said: Vec<&str> = updating
            .map(|machine| machine.message("Updating"))
            .collect();
        // Only core's log contains the reason. Core leaves the other Machine unchanged.
        assert_eq!(said, ["In-place update in progress"]);
        RULE.repeal(world).await?;
        scene.arrives(world, LATEST.version).await
    })
}

/// Core gets everything that it needs from careen-provider.
#[test]
fn condition_refused_by_infra_machine_does_not_stop_the_upgrade() -> Result<()> {
    const RULE: Rule = Rule {
        name: "unimpressed",
        resource: "rigmachines/status",
        holds: "!object.status.conditions.exists(one, one.type == 'InplaceUpgrade')",
        message: "this host keeps its conditions",
    };
    world::run(VERSION, |world| async move {
        let scene = Scene::new(world, RULE.name, 1, ONE_AT_A_TIME).await?;
        let ours = json!({
            "type": "InplaceUpgrade", "status": "True", "reason": "Test", "lastTransitionTime": "2026-01-01T00:00:00Z",
        });
        RULE.comes_into_force(world, &scene, json!({ "status": { "conditions": [ours] } }))
            .await?;
        scene.ask(json!({ "version": LATEST.version })).await?;
        scene.arrives(world, LATEST.version).await?;
        for name in scene.before.iter().map(Machine::name) {
            let about = (name.as_str(), "Unwritten");
            let notes = events::notes(&world.client, RULE.name, about).await?;
            let says = |note: &String| note.contains(RULE.message);
            assert!(notes.iter().any(says), "{notes:?}");
        }
        RULE.repeal(world).await
    })
}

//! Other programs that read the Node: the keys that keep them off, the conditions of its lifecycle,
//! and what kubeadm would undo.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use careen_tests::machine::NEW_IMAGE;
use careen_tests::node::{annotation, is_cordoned};
use careen_tests::pods::Namespace;
use careen_tests::scene::Scene;
use k8s_openapi::api::admissionregistration::v1::{
    ValidatingAdmissionPolicy, ValidatingAdmissionPolicyBinding,
};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use upgrade::names;

/// The node settles soon.
const SETTLES: &str = "retry-seconds = 1\n[neighbours]\nsettle-seconds = 1\n";

const KEYS: [&str; 2] = [names::SCALE_DOWN_REFUSED, names::DISRUPTION_REFUSED];
const MARKS: [&str; 3] = [
    names::SCALE_DOWN_REFUSED_BY,
    names::DISRUPTION_REFUSED_BY,
    names::REMEDIATION_REFUSED_BY,
];

fn label(node: &Node) -> Option<&str> {
    let label = node.labels().get(names::REMEDIATION_REFUSED);
    label.map(String::as_str)
}

/// The conditions of the lifecycle that are True.
fn lifecycle(node: &Node) -> Vec<&str> {
    let status = node.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let all = conditions.into_iter().flatten();
    let ours = all.filter(|one| one.reason.as_deref() == Some(names::LIFECYCLE_REASON));
    let mut found: Vec<_> = ours.map(|one| one.type_.as_str()).collect();
    found.sort_unstable();
    found
}

#[tokio::test]
async fn neighbours_are_kept_off_until_the_node_has_settled() -> Result<()> {
    let mut scene = Scene::with_policy("shielded", SETTLES).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    let node = scene.node.now().await?;
    assert!(is_cordoned(&node));
    assert_eq!(KEYS.map(|key| annotation(&node, key)), ["true"; 2]);
    assert_eq!(
        MARKS.map(|key| annotation(&node, key)),
        ["r1-aaaaaaaaaaaa"; 3]
    );
    assert_eq!(label(&node), Some("true"));
    let drained = [names::DRAINED, names::MAINTENANCE_IN_PROGRESS];
    assert_eq!(lifecycle(&node), drained);
    scene.kubelet_registers().await?;
    scene.node.until_answered("Upgraded").await?;
    let bare = |node: &Node| {
        let gone = |key: &&str| annotation(node, key).is_empty();
        KEYS.iter().chain(&MARKS).all(gone) && label(node).is_none() && lifecycle(node).is_empty()
    };
    scene.node.until("the node as it was", &bare).await?;
    Ok(())
}

#[tokio::test]
async fn keys_that_others_have_set_outlast_the_upgrade() -> Result<()> {
    let mut scene = Scene::with_policy("shielded-by-hand", SETTLES).await?;
    let theirs = json!({ names::SCALE_DOWN_REFUSED: "false" });
    scene.node.annotate(theirs).await?;
    let theirs = json!({ names::REMEDIATION_REFUSED: "by-hand" });
    scene.node.label(theirs).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    let node = scene.node.now().await?;
    assert_eq!(KEYS.map(|key| annotation(&node, key)), ["true"; 2]);
    let mark = annotation(&node, names::SCALE_DOWN_REFUSED_BY);
    assert_eq!(mark, "r1-aaaaaaaaaaaa was false");
    assert_eq!(label(&node), Some("by-hand"));
    scene.kubelet_registers().await?;
    scene.node.until_answered("Upgraded").await?;
    let settled = |node: &Node| annotation(node, names::DISRUPTION_REFUSED).is_empty();
    let node = scene.node.until("the end of ours", &settled).await?;
    assert_eq!(annotation(&node, names::SCALE_DOWN_REFUSED), "false");
    assert_eq!(label(&node), Some("by-hand"));
    assert_eq!(MARKS.map(|key| annotation(&node, key)), [""; 3]);
    Ok(())
}

#[tokio::test]
async fn key_that_is_removed_in_the_trial_is_set_again() -> Result<()> {
    let mut scene = Scene::with_policy("shield-lost", SETTLES).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    let removed = json!({ names::SCALE_DOWN_REFUSED: "false", names::DISRUPTION_REFUSED: null });
    scene.node.annotate(removed).await?;
    let again = |node: &Node| KEYS.iter().all(|key| annotation(node, key) == "true");
    scene.node.until("the keys again", &again).await?;
    scene.kubelet_registers().await?;
    scene.node.until_answered("Upgraded").await?;
    let gone = |node: &Node| MARKS.iter().all(|mark| annotation(node, mark).is_empty());
    let node = scene.node.until("the end of ours", &gone).await?;
    assert_eq!(KEYS.map(|key| annotation(&node, key)), ["false", ""]);
    Ok(())
}

/// A policy of the cluster keeps Karpenter's key off this Node, and gives no reason, so that the
/// server answers 422.
async fn keep_one_key_to_others(scene: &Scene, name: &str) -> Result<()> {
    let (node, key) = (&scene.node.name, names::DISRUPTION_REFUSED);
    let (api, metadata) = ("admissionregistration.k8s.io/v1", json!({ "name": name }));
    let nodes = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["nodes"], "operations": ["UPDATE"],
    });
    let holds = format!(
        "object.metadata.name != '{node}' || !has(object.metadata.annotations) || !('{key}' in object.metadata.annotations)"
    );
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": metadata,
        "spec": {
            "matchConstraints": { "resourceRules": [nodes] },
            "validations": [{ "expression": holds, "message": "this key is the cluster's" }],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": metadata,
        "spec": { "policyName": name, "validationActions": ["Deny"] },
    });
    let (admin, params) = (&scene.node.admin, PatchParams::apply("careen-tests"));
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(admin.clone());
    policies.patch(name, &params, &Patch::Apply(policy)).await?;
    let bindings: Api<ValidatingAdmissionPolicyBinding> = Api::all(admin.clone());
    bindings
        .patch(name, &params, &Patch::Apply(binding))
        .await?;
    // The server learns of a new policy a moment after its creation.
    while scene.node.annotate(json!({ key: "true" })).await.is_ok() {
        scene.node.annotate(json!({ key: null })).await?;
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    Ok(())
}

#[tokio::test]
async fn one_refused_key_does_not_keep_the_others_off() -> Result<()> {
    let mut scene = Scene::with_policy("one-refused-key", SETTLES).await?;
    keep_one_key_to_others(&scene, "one-refused-key").await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.reboot_silently().await?;
    let node = scene.node.now().await?;
    assert!(is_cordoned(&node));
    assert_eq!(KEYS.map(|key| annotation(&node, key)), ["true", ""]);
    assert_eq!(label(&node), Some("true"));
    scene.kubelet_registers().await?;
    scene.node.until_answered("Upgraded").await?;
    let bare = |node: &Node| {
        let gone = |key: &&str| annotation(node, key).is_empty();
        KEYS.iter().chain(&MARKS).all(gone) && label(node).is_none()
    };
    scene.node.until("the node as it was", &bare).await?;
    Ok(())
}

/// Creates an object in kube-system, as kubeadm does.
async fn create<K>(scene: &Scene, name: &str, object: Value) -> Result<()>
where
    K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
    <K as kube::Resource>::DynamicType: Default,
{
    let api: Api<K> = Api::namespaced(scene.node.admin.clone(), "kube-system");
    let params = PatchParams::apply("kubeadm").force();
    api.patch(name, &params, &Patch::Apply(object)).await?;
    Ok(())
}

/// The cluster's configuration of the kubelet, which each node may read.
async fn configure_kubelets(scene: &Scene) -> Result<()> {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "kubelet-config" },
        "data": { "kubelet": "kind: KubeletConfiguration\n" },
    });
    create::<ConfigMap>(scene, "kubelet-config", map).await?;
    let (rbac, name) = ("rbac.authorization.k8s.io", "kubeadm:kubelet-config");
    let rule = json!({ "apiGroups": [""], "resources": ["configmaps"], "resourceNames": ["kubelet-config"], "verbs": ["get"] });
    let role = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "Role", "metadata": { "name": name },
        "rules": [rule],
    });
    create::<Role>(scene, name, role).await?;
    let binding = json!({
        "apiVersion": format!("{rbac}/v1"), "kind": "RoleBinding", "metadata": { "name": name },
        "roleRef": { "apiGroup": rbac, "kind": "Role", "name": name },
        "subjects": [{ "apiGroup": rbac, "kind": "Group", "name": "system:nodes" }],
    });
    create::<RoleBinding>(scene, name, binding).await
}

/// Gives the node a kubelet whose `maxPods` kubeadm would unset.
fn set_max_pods(scene: &Scene) -> Result<PathBuf> {
    let root = scene.node.folder.path().join("kubelets-root");
    let kubelet = root.join("var/lib/kubelet");
    std::fs::create_dir_all(&kubelet)?;
    let own = "kind: KubeletConfiguration\nmaxPods: 42\n";
    std::fs::write(kubelet.join("config.yaml"), own)?;
    scene.machine.has_kubelet_below(root.clone());
    Ok(root)
}

#[tokio::test]
async fn stricter_kubeadm_key_ends_an_upgrade_that_is_draining() -> Result<()> {
    let word = "stricter-settings";
    let drops = "retry-seconds = 1\n[kubeadm]\nlocal-settings = \"drop\"\n";
    let scene = Scene::with_policy(word, drops).await?;
    configure_kubelets(&scene).await?;
    set_max_pods(&scene)?;
    let pods = Namespace::new(&scene.node).await?;
    pods.run("web", json!({})).await?;
    pods.budget("always-one", "web", 1).await?;
    scene.node.ask_for(NEW_IMAGE).await?;
    scene.node.until("cordoned", &is_cordoned).await?;
    std::fs::write(scene.policy(), "retry-seconds = 1\n")?;
    pods.drop_budget("always-one").await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(said.contains("maxPods is 42 and would be unset"), "{said}");
    assert!(!is_cordoned(&node));
    assert_eq!(scene.machine.boots(), 0);
    Ok(())
}

#[tokio::test]
async fn settings_that_kubeadm_would_undo_end_it_before_the_cordon() -> Result<()> {
    let mut scene = Scene::new("own-settings").await?;
    configure_kubelets(&scene).await?;
    let patches = set_max_pods(&scene)?.join("etc/kubernetes/patches");
    std::fs::create_dir_all(&patches)?;
    scene.node.ask_for(NEW_IMAGE).await?;
    let node = scene.node.until_answered("Failed").await?;
    let said = annotation(&node, names::FAILURE_REASON);
    assert!(said.contains("maxPods is 42 and would be unset"), "{said}");
    assert!(!is_cordoned(&node) && scene.machine.times("Deploy") == 0);
    std::fs::write(
        patches.join("kubeletconfiguration+merge.yaml"),
        "maxPods: 42\n",
    )?;
    let again = json!({ names::UPGRADE_ID: "with-a-patch" });
    scene.node.annotate(again).await?;
    scene.reboot().await?;
    scene.node.until_answered("Upgraded").await?;
    Ok(())
}

//! The lock of a control plane, at a real API server.
#![allow(clippy::unwrap_used, clippy::panic)]

mod rig;

use std::fs;
use std::thread;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use rig::{Root, answer, shown, within};
use serde_json::{Value, json};
use testkit::control_plane::ControlPlane;

/// The files of a control-plane node of this cluster.
fn root(plane: &ControlPlane, name: &str) -> Root {
    let root = Root::new();
    root.pods("v1.36.3");
    let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
    root.put("/etc/kubernetes/admin.conf", &admin);
    let kubelet = plane.node_kubeconfig(name, Duration::from_secs(3600));
    let kubelet = fs::read_to_string(kubelet.unwrap()).unwrap();
    root.put("/etc/kubernetes/kubelet.conf", &kubelet);
    root
}

async fn lease(client: &Client) -> Option<Lease> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    leases.get_opt("careen-control-plane").await.unwrap()
}

/// Makes a Node, or gives it another status.
async fn node(client: &Client, name: &str, status: Value) {
    let nodes: Api<Node> = Api::all(client.clone());
    let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name,
        "annotations": { "careen.dev/status": status.to_string() } } });
    let by = PatchParams::apply("careen-agent");
    nodes.patch(name, &by, &Patch::Apply(object)).await.unwrap();
}

fn held_by(holder: &str, taken: &str) -> impl Fn(&(Value, Option<i32>)) -> bool {
    move |(answer, code)| {
        let ours = answer["answer"] == "locked" && *code == Some(0);
        ours && answer["holder"] == holder && answer["taken"]["how"] == taken
    }
}

fn busy(found: &(Value, Option<i32>), holder: &str) -> bool {
    found.0["answer"] == "busy" && found.0["holder"] == holder && found.1 == Some(3)
}

#[test]
fn one_upgrade_of_one_node_has_the_control_plane() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let folder = folder.path().join("cluster");
        let plane = ControlPlane::start(&folder).await.unwrap();
        let client = plane.client().await.unwrap();
        for (name, id) in [("cp-1", "7"), ("cp-2", "8")] {
            node(&client, name, json!({ "id": id, "phase": "Deployed" })).await;
        }
        let roots = ["cp-1", "cp-2"].map(|name| root(&plane, name));
        it_is_taken_once_and_outlives_the_api_server(&plane, &client, &roots).await;
        only_its_holder_releases_it(&client, &roots).await;
        of_two_at_once_one_gets_it(&roots);
        a_holder_that_is_over_loses_it(&client, &roots).await;
    });
}

async fn it_is_taken_once_and_outlives_the_api_server(
    plane: &ControlPlane,
    client: &Client,
    [first, second]: &[Root; 2],
) {
    let taken = answer(first, &["lock", "--upgrade", "7"]);
    assert!(held_by("cp-1/7", "free")(&taken), "{taken:?}");
    let spec = lease(client).await.unwrap().spec.unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("cp-1/7"));
    assert!(spec.lease_duration_seconds.is_none() && spec.acquire_time.is_some());

    let other = answer(second, &["lock", "--upgrade", "8"]);
    assert!(busy(&other, "cp-1/7"), "{other:?}");
    let (out, said, code) = shown(second, &["lock", "--upgrade", "8"]);
    assert_eq!((out.as_str(), code), ("", Some(3)));
    let begin = "careen-control: another upgrade has the control plane since ";
    assert!(
        said.starts_with(begin) && said.contains(": cp-1/7. "),
        "{said}"
    );

    plane.stop_api_server();
    let (away, code) = answer(first, &["lock", "--upgrade", "7"]);
    assert_eq!(
        (&away["answer"], code),
        (&json!("failed"), Some(1)),
        "{away}"
    );
    assert_eq!(away["source"], "api");
    let (away, code) = answer(first, &["unlock", "--upgrade", "7"]);
    assert_eq!((&away["source"], code), (&json!("api"), Some(1)), "{away}");
    plane.start_api_server().await.unwrap();
    let again = answer(first, &["lock", "--upgrade", "7"]);
    assert!(held_by("cp-1/7", "before")(&again), "{again:?}");
    assert_eq!(again.0["since"], taken.0["since"]);
}

async fn only_its_holder_releases_it(client: &Client, [first, second]: &[Root; 2]) {
    let (kept, code) = answer(second, &["unlock", "--upgrade", "7"]);
    assert_eq!((&kept["answer"], code), (&json!("others"), Some(0)));
    assert_eq!(kept["holder"], "cp-1/7");
    let (out, _, code) = shown(first, &["unlock", "--upgrade", "7"]);
    let says = "cp-1/7 has released the lock of the control plane.\n";
    assert_eq!((out.as_str(), code), (says, Some(0)));
    assert!(lease(client).await.is_none());
    let (gone, code) = answer(first, &["unlock", "--upgrade", "7"]);
    assert_eq!((&gone["answer"], code), (&json!("absent"), Some(0)));
}

fn of_two_at_once_one_gets_it(roots: &[Root; 2]) {
    let ids = ["7", "8"];
    for _ in 0..5 {
        let found: Vec<_> = thread::scope(|scope| {
            let begin = |(root, id)| scope.spawn(move || answer(root, &["lock", "--upgrade", id]));
            let both: Vec<_> = roots.iter().zip(ids).map(begin).collect();
            both.into_iter().map(|one| one.join().unwrap()).collect()
        });
        let winner = found.iter().position(|(_, code)| *code == Some(0)).unwrap();
        let holder = format!("cp-{}/{}", winner + 1, ids[winner]);
        assert!(held_by(&holder, "free")(&found[winner]), "{found:?}");
        assert!(busy(&found[1 - winner], &holder), "{found:?}");
        answer(&roots[winner], &["unlock", "--upgrade", ids[winner]]);
    }
}

async fn a_holder_that_is_over_loses_it(client: &Client, [first, second]: &[Root; 2]) {
    let take = |root, id| answer(root, &["lock", "--upgrade", id]);
    let from = |found: &(Value, Option<i32>)| found.0["taken"]["because"].clone();
    take(first, "7");
    node(client, "cp-1", json!({ "id": "7", "phase": "Halted" })).await;
    assert!(busy(&take(second, "8"), "cp-1/7"), "a halted one keeps it");
    node(client, "cp-1", json!({ "id": "9", "phase": "Trial" })).await;
    let over = take(second, "8");
    assert!(held_by("cp-2/8", "over")(&over), "{over:?}");
    assert_eq!(
        (from(&over), &over.0["taken"]["from"]),
        (json!("anotherUpgrade"), &json!("cp-1/7"))
    );
    let nodes: Api<Node> = Api::all(client.clone());
    let gone = DeleteParams::default();
    nodes.delete("cp-2", &gone).await.unwrap();
    let lost = take(first, "7");
    assert!(held_by("cp-1/7", "over")(&lost), "{lost:?}");
    assert_eq!(from(&lost), "nodeGone");

    node(client, "cp-1", json!({ "id": "7", "phase": "Armed" })).await;
    assert!(busy(&take(second, "8"), "cp-1/7"));
    nodes.delete("cp-1", &gone).await.unwrap();
    let over = take(second, "8");
    assert_eq!(from(&over), "nodeGone", "{over:?}");

    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
    let by_hand = Patch::Merge(json!({ "spec": { "holderIdentity": "alice" } }));
    let by = PatchParams::default();
    leases
        .patch("careen-control-plane", &by, &by_hand)
        .await
        .unwrap();
    assert!(
        busy(&take(second, "8"), "alice"),
        "a person's is never taken"
    );
    let unlocked = answer(second, &["unlock", "--upgrade", "8"]);
    assert_eq!(unlocked.0["answer"], "others");
    let free = Patch::Merge(json!({ "spec": { "holderIdentity": "" } }));
    leases
        .patch("careen-control-plane", &by, &free)
        .await
        .unwrap();
    assert!(
        held_by("cp-2/8", "free")(&take(second, "8")),
        "an empty one is free"
    );
}

#[test]
fn lock_needs_no_shared_address_beside_the_own_server() {
    let folder = tempfile::tempdir().unwrap();
    within(async {
        let folder = folder.path().join("cluster");
        let plane = ControlPlane::start(&folder).await.unwrap();
        let client = plane.client().await.unwrap();
        let root = root(&plane, "cp-1");
        let flags = [
            "--advertise-address=127.0.0.1".to_owned(),
            format!("--secure-port={}", plane.api_port()),
        ];
        root.manifest("kube-apiserver", "kube-apiserver:v1.36.3", &flags);
        let admin = fs::read_to_string(plane.admin_kubeconfig()).unwrap();
        let own = format!("127.0.0.1:{}", plane.api_port());
        assert!(admin.contains(&own), "the shared address is another one");
        root.put(
            "/etc/kubernetes/admin.conf",
            &admin.replace(&own, "127.0.0.1:1"),
        );
        let taken = answer(&root, &["lock", "--upgrade", "7"]);
        assert!(held_by("cp-1/7", "free")(&taken), "{taken:?}");
        assert!(lease(&client).await.is_some());
        let (released, code) = answer(&root, &["unlock", "--upgrade", "7"]);
        assert_eq!((&released["answer"], code), (&json!("released"), Some(0)));
        plane.stop_api_server();
        let (away, code) = answer(&root, &["lock", "--upgrade", "7"]);
        assert_eq!((&away["source"], code), (&json!("api"), Some(1)), "{away}");
    });
}

#[test]
fn a_wrong_id_or_node_changes_nothing() {
    let root = Root::new();
    for verb in ["lock", "unlock", "save"] {
        for arguments in [
            &[verb][..],
            &[verb, "--upgrade", "a/b"],
            &[verb, "--upgrade", ""],
        ] {
            assert_eq!(shown(&root, arguments).2, Some(2), "{arguments:?}");
        }
        let (_, said, code) = shown(&root, &[verb, "--upgrade", "7"]);
        assert_eq!(code, Some(1));
        assert!(said.contains("runs no control plane"), "{said}");
    }
    root.pods("v1.36.3");
    let (answer, code) = answer(&root, &["lock", "--upgrade", "7"]);
    assert_eq!((&answer["source"], code), (&json!("credential"), Some(1)));
}

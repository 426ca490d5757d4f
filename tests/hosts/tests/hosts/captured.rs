//! The token of a captured host, tried against everything: each request is refused, or about the
//! host itself. And the token of a registration, which reads nothing.

use anyhow::{Context, Result, ensure};
use hosts_tests::{Played, Running, Scene, client_of, status};
use infrastructure::{Phase, Policy};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::core::NamespaceResourceScope;
use kube::{Client, Resource};
use provider::kinds::policies::{OF_A_HOST, REGISTRATIONS};
use provider::kinds::{CareenHost, CareenMachine, HostRegistration};
use serde_json::{Value, json};

use crate::life::registered;

const SPACE: &str = "captured";
const HANDOVER: &str = "f123456789abcdef0123456789abcdef";
const OTHERS: &str = "e123456789abcdef0123456789abcdef";

/// The code of the refusal.
fn refused<T>(what: &str, answer: Result<T, kube::Error>) -> Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if matches!(status.code, 403 | 422) => Ok(()),
        Err(error) => Err(error).with_context(|| format!("{what} failed otherwise")),
        Ok(_) => anyhow::bail!("{what} was allowed"),
    }
}

fn all<K>(client: &Client) -> Api<K>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>,
{
    Api::namespaced(client.clone(), SPACE)
}

async fn cannot_read<K>(client: &Client, name: &str) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned,
{
    let kind = K::kind(&());
    refused(
        &format!("get {kind} {name}"),
        all::<K>(client).get(name).await,
    )?;
    refused(
        &format!("list {kind}"),
        all::<K>(client).list(&ListParams::default()).await,
    )
}

async fn cannot_change<K>(client: &Client, name: &str, change: Value) -> Result<()>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + std::fmt::Debug
        + serde::de::DeserializeOwned
        + serde::Serialize,
{
    let kind = K::kind(&());
    let body = Patch::Merge(change);
    let params = PatchParams::default();
    refused(
        &format!("patch {kind} {name}"),
        all::<K>(client).patch(name, &params, &body).await,
    )?;
    refused(
        &format!("delete {kind} {name}"),
        all::<K>(client)
            .delete(name, &DeleteParams::default())
            .await
            .map(drop),
    )
}

async fn token(client: &Client, account: &str, seconds: i64) -> Result<(), kube::Error> {
    let request = json!({ "spec": { "audiences": [], "expirationSeconds": seconds } });
    let request: TokenRequest = serde_json::from_value(request).map_err(kube::Error::SerdeError)?;
    let params = PostParams::default();
    all::<ServiceAccount>(client)
        .create_token_request(account, &params, &request)
        .await
        .map(drop)
}

#[tokio::test]
async fn captured_host_reaches_nothing_but_its_own() -> Result<()> {
    let scene = Scene::new(SPACE).await?;
    let _provider = Running::start(&scene.admin, SPACE, Policy::default()).await?;
    scene.cluster().await?;
    let own = registered(&scene, "bad", HANDOVER).await?;
    let _victim = registered(&scene, "good", OTHERS).await?;
    scene.machine("m").await?;
    let (mine, theirs) = (format!("{OF_A_HOST}bad"), format!("{OF_A_HOST}good"));

    // Its own.
    let host = Played::new(own.clone(), SPACE, "bad");
    scene
        .until("it has its rights", || async { host.renew().await })
        .await?;
    host.say().await?;
    ensure!(all::<CareenHost>(&own).get("bad").await?.spec.approved);
    all::<Secret>(&own).get(&mine).await?;
    token(&own, &mine, 3600).await?;

    // Others' and the cluster's.
    cannot_read::<CareenHost>(&own, "good").await?;
    cannot_read::<Secret>(&own, &theirs).await?;
    cannot_read::<Secret>(&own, "m-data").await?;
    cannot_read::<Lease>(&own, &theirs).await?;
    cannot_read::<CareenMachine>(&own, "m").await?;
    cannot_read::<HostRegistration>(&own, "rack-a").await?;
    cannot_read::<ConfigMap>(&own, "kube-root-ca.crt").await?;
    cannot_read::<Pod>(&own, "x").await?;
    cannot_read::<Role>(&own, &mine).await?;
    let handovers: Api<Secret> = Api::namespaced(own.clone(), REGISTRATIONS);
    refused("the first token of another", handovers.get(OTHERS).await)?;

    // What it may not say of itself.
    let claim = json!({ "id": "00000000000000aa", "machine": "m", "cluster": "c", "providerID": "x", "wanted": "Joined" });
    for spec in [
        json!({ "spec": { "claim": claim } }),
        json!({ "spec": { "approved": true } }),
        json!({ "metadata": { "labels": { "pool": "gpu" } } }),
        json!({ "metadata": { "annotations": { "careen.dev/force-release": "x" } } }),
        json!({ "metadata": { "finalizers": [] } }),
    ] {
        cannot_change::<CareenHost>(&own, "bad", spec).await?;
    }
    cannot_change::<Secret>(&own, &mine, json!({ "data": {} })).await?;
    cannot_change::<Role>(&own, &mine, json!({ "rules": [] })).await?;
    for change in [
        json!({ "spec": { "holderIdentity": "x" } }),
        json!({ "metadata": { "labels": { "a": "b" } } }),
        json!({ "metadata": { "ownerReferences": [] } }),
    ] {
        cannot_change::<Lease>(&own, &mine, change).await?;
    }

    // What it may not do to others.
    let said = Patch::Merge(json!({ "status": status(Phase::Quarantined, None) }));
    let params = PatchParams::default();
    refused(
        "another's status",
        all::<CareenHost>(&own)
            .patch_status("good", &params, &said)
            .await,
    )?;
    let renewed = json!({ "spec": { "renewTime": "2026-01-01T00:00:00.000000Z" } });
    cannot_change::<Lease>(&own, &theirs, renewed).await?;
    cannot_change::<CareenMachine>(&own, "m", json!({ "spec": { "osImage": "evil" } })).await?;
    refused("another's token", token(&own, &theirs, 3600).await)?;
    refused("a token for a week", token(&own, &mine, 7 * 86_400).await)?;
    let twin = json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost", "metadata": { "name": "twin" },
        "spec": { "registration": "rack-a", "handover": HANDOVER },
    });
    let twin: CareenHost = serde_json::from_value(twin)?;
    refused(
        "a host",
        all::<CareenHost>(&own)
            .create(&PostParams::default(), &twin)
            .await,
    )?;
    Ok(())
}

#[tokio::test]
async fn deleted_host_has_no_access_any_more() -> Result<()> {
    let scene = Scene::new("revoked").await?;
    let _provider = Running::start(&scene.admin, "revoked", Policy::default()).await?;
    let own = registered(&scene, "gone", "d123456789abcdef0123456789abcdef").await?;
    let host = Played::new(own.clone(), "revoked", "gone");
    scene
        .until("it has its rights", || async { host.renew().await })
        .await?;
    let hosts: Api<CareenHost> = scene.all();
    hosts.delete("gone", &DeleteParams::default()).await?;
    scene
        .until("its access has ended", || async {
            let answer = host.renew().await;
            ensure!(
                answer.is_err_and(|error| format!("{error:#}").contains("Unauthorized")
                    || format!("{error:#}").contains("forbidden"))
            );
            Ok(())
        })
        .await
}

/// A kube-apiserver accepts a token for 10 s after it has looked at it.
#[tokio::test]
async fn host_whose_account_is_deleted_has_no_access_soon() -> Result<()> {
    let scene = Scene::new("accountless").await?;
    let _provider = Running::start(&scene.admin, "accountless", Policy::default()).await?;
    let own = registered(&scene, "out", "c123456789abcdef0123456789abcdef").await?;
    let host = Played::new(own.clone(), "accountless", "out");
    let renews = || async { host.renew().await };
    scene.until("it has its rights", renews).await?;
    let accounts: Api<ServiceAccount> = scene.all();
    let name = format!("{OF_A_HOST}out");
    accounts.delete(&name, &DeleteParams::default()).await?;
    let begun = std::time::Instant::now();
    while host.renew().await.is_ok() {
        let passed = begun.elapsed();
        ensure!(passed.as_secs() < 20, "access after {passed:?}");
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
    }
    // careen-provider looks at the host, and makes no other account.
    let change = json!({ "metadata": { "labels": { "a": "b" } } });
    scene.change::<CareenHost>("out", change).await?;
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    ensure!(
        accounts.get_opt(&name).await?.is_none(),
        "it has another one"
    );
    ensure!(host.renew().await.is_err());
    Ok(())
}

#[tokio::test]
async fn registration_creates_hosts_of_its_own_and_reads_nothing() -> Result<()> {
    let scene = Scene::new("registering").await?;
    let account = "registering.rack-a";
    scene.apply(&json!({
        "apiVersion": "careen.dev/v1alpha1", "kind": "HostRegistration", "metadata": { "name": "rack-a" }, "spec": {},
    }))
    .await?;
    testkit::cluster_api::objects::apply(&scene.admin, &json!({
        "apiVersion": "v1", "kind": "ServiceAccount", "metadata": { "name": account, "namespace": REGISTRATIONS },
    }))
    .await?;
    let client = client_of(&scene.admin, REGISTRATIONS, account).await?;
    let create = |space: &str, metadata: Value, spec: Value| {
        let hosts: Api<CareenHost> = Api::namespaced(client.clone(), space);
        async move {
            let host = json!({ "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost", "metadata": metadata, "spec": spec });
            let host: CareenHost = serde_json::from_value(host).map_err(kube::Error::SerdeError)?;
            hosts.create(&PostParams::default(), &host).await
        }
    };
    let good = || json!({ "registration": "rack-a", "handover": HANDOVER });
    let with = |key: &str, value: Value| {
        let mut spec = good();
        spec[key] = value;
        spec
    };
    scene
        .until("it may register", || async {
            create("registering", json!({ "name": "n-1" }), good())
                .await
                .map(drop)
                .map_err(Into::into)
        })
        .await?;
    let named = || json!({ "name": "n-2" });
    refused(
        "another namespace",
        create("default", named(), good()).await,
    )?;
    refused(
        "another registration",
        create(
            "registering",
            named(),
            with("registration", json!("rack-b")),
        )
        .await,
    )?;
    refused(
        "approved",
        create("registering", named(), with("approved", json!(true))).await,
    )?;
    refused(
        "a domain",
        create("registering", named(), with("failureDomain", json!("x"))).await,
    )?;
    refused(
        "no handover",
        create("registering", named(), json!({ "registration": "rack-a" })).await,
    )?;
    let claim =
        json!({ "id": "00000000000000aa", "machine": "m", "cluster": "c", "providerID": "x" });
    refused(
        "a claim",
        create("registering", named(), with("claim", claim)).await,
    )?;
    let labelled = json!({ "name": "n-2", "labels": { "pool": "gpu" } });
    refused("a label", create("registering", labelled, good()).await)?;
    let hosts: Api<CareenHost> = Api::namespaced(client.clone(), "registering");
    refused("get a host", hosts.get("n-1").await)?;
    refused("list hosts", hosts.list(&ListParams::default()).await)?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), REGISTRATIONS);
    refused(
        "list first tokens",
        secrets.list(&ListParams::default()).await,
    )?;
    let secrets: Api<Secret> = Api::namespaced(client.clone(), "registering");
    refused("a Secret of the namespace", secrets.get("x").await)
}

//! What the ServiceAccount of the release may not do. The test asks the API server itself.

use anyhow::{Result, ensure};
use careen_tests::cluster::plane;
use careen_tests::management::Management;
use careen_tests::provider_release::kubeconfig;
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
};
use kube::api::{Api, PostParams};
use kube::config::KubeConfigOptions;
use kube::{Client, Config};
use provider::{manifests, names};

/// Whether the account may do this with the object of this name, in its own namespace if the object
/// has one.
async fn may(client: &Client, verb: &str, kind: (&str, &str), name: &str) -> Result<bool> {
    let (group, resource) = kind;
    let attributes = ResourceAttributes {
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        verb: Some(verb.to_owned()),
        name: Some(name.to_owned()),
        namespace: Some(manifests::NAMESPACE.to_owned()),
        ..ResourceAttributes::default()
    };
    let review = SelfSubjectAccessReview {
        spec: SelfSubjectAccessReviewSpec {
            resource_attributes: Some(attributes),
            ..SelfSubjectAccessReviewSpec::default()
        },
        ..SelfSubjectAccessReview::default()
    };
    let reviews: Api<SelfSubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

const LEASES: (&str, &str) = ("coordination.k8s.io", "leases");
const SECRETS: (&str, &str) = ("", "secrets");
const EXTENSIONS: (&str, &str) = (names::RUNTIME_GROUP, "extensionconfigs");

#[tokio::test]
async fn provider_may_change_only_its_own_lease_and_secret() -> Result<()> {
    let scene = Management::new("rightful").await?;
    let content = kubeconfig(plane().await?, &scene.admin).await?;
    let config = Config::from_custom_kubeconfig(content, &KubeConfigOptions::default()).await?;
    let client = Client::try_from(config)?;
    let ours = [
        ("update", LEASES, names::MANAGER),
        ("update", SECRETS, names::TLS_SECRET),
        ("get", EXTENSIONS, names::MANAGER),
    ];
    for (verb, kind, name) in ours {
        let known = || async {
            ensure!(
                may(&client, verb, kind, name).await?,
                "{verb} {kind:?} {name}"
            );
            Ok(())
        };
        scene.until("its rights in force", known).await?;
        for verb in [verb, "delete"] {
            let theirs = may(&client, verb, kind, "of-somebody-else").await?;
            assert!(!theirs, "{verb} {kind:?}");
        }
    }
    for verb in ["patch", "update"] {
        assert!(!may(&client, verb, EXTENSIONS, names::MANAGER).await?);
    }
    for verb in ["list", "watch", "delete", "deletecollection"] {
        assert!(!may(&client, verb, SECRETS, "").await?, "{verb}");
    }
    Ok(())
}

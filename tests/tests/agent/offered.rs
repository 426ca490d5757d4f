//! The API server accepts what is shipped for a cluster: the DaemonSet that installs agents, its
//! chart, and the objects that read their metrics. An agent's metrics leave its node only through
//! the shipped proxy, and only for the accounts in the shipped rights.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, Result};
use careen_tests::cluster::{PATIENCE, plane};
use careen_tests::metrics_proxy::{
    Account, PROXY, Proxy, SCRAPER, account, daemonset, install, shipped, token,
};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use kube::Client;
use kube::api::{Api, DynamicObject, Patch, PatchParams, PostParams, ValidationDirective};
use serde_json::{Value, json};
use testkit::cluster_api::{documents, objects};
use testkit::programs;
use tokio::sync::OnceCell;

/// Another account of the cluster, without rights.
const STRANGER: Account<'_> = ("shop", "till");

/// The administrator, when the rights exist and are in force.
async fn installed() -> Result<Client> {
    static DONE: OnceCell<()> = OnceCell::const_new();
    let admin = plane().await?.client().await?;
    DONE.get_or_try_init(|| async {
        install(&admin).await?;
        account(&admin, STRANGER).await?;
        until_in_force(&admin).await
    })
    .await?;
    Ok(admin)
}

/// The server learns of new rights a moment after their creation.
async fn until_in_force(admin: &Client) -> Result<()> {
    let known = || async {
        let proxy = Proxy::new(admin).await?;
        let token = token(admin, SCRAPER, &[proxy.audience()]).await?;
        let refused = proxy.refusal(&token, "get", "/metrics").await?;
        anyhow::ensure!(refused.is_none(), "{refused:?}");
        Ok(())
    };
    objects::until("the scraper let through", PATIENCE, known).await
}

/// Makes the same request as `kubectl apply --server-side --dry-run=server --validate=strict`.
async fn tried(admin: &Client, object: &Value) -> Result<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let (kind, name) = (text("/kind"), text("/metadata/name"));
    let (kind, name) = kind.zip(name).context("no kind or name")?;
    let of_kind = objects::kind(text("/apiVersion").context("no apiVersion")?, kind)?;
    let api = objects::api(admin, &of_kind, text("/metadata/namespace"));
    let how = PatchParams {
        dry_run: true,
        field_validation: Some(ValidationDirective::Strict),
        ..PatchParams::apply("careen-tests").force()
    };
    let tried = api.patch(name, &how, &Patch::Apply(object)).await;
    tried.with_context(|| format!("{kind} {name}"))
}

#[tokio::test]
async fn api_server_takes_shipped_objects_and_rejects_unknown_fields() -> Result<()> {
    let admin = installed().await?;
    let provider =
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "careen-system" } });
    objects::apply(&admin, &provider).await?;
    for file in ["agent-proxy.yaml", "provider-scraper.yaml"] {
        for object in documents(&shipped(file))? {
            tried(&admin, &object).await?;
        }
    }
    let mut misspelt = daemonset()?;
    misspelt["spec"]["template"]["spec"]["hostNetwerk"] = json!(true);
    let refused = tried(&admin, &misspelt).await.err();
    let refused = refused.context("it was taken")?;
    assert!(
        format!("{refused:#}").contains("hostNetwerk"),
        "{refused:#}"
    );
    Ok(())
}

/// A shipped file of the DaemonSet that installs agents.
fn of_the_installer(file: &str) -> PathBuf {
    programs::home().join("../packaging/daemonset").join(file)
}

/// The administrator, with the namespace of the DaemonSet. Its pods use the default account of the
/// namespace.
async fn with_its_namespace() -> Result<Client> {
    let admin = plane().await?.client().await?;
    account(&admin, ("careen", "default")).await?;
    for object in documents(&of_the_installer("namespace.yaml"))? {
        objects::apply(&admin, &object).await?;
    }
    Ok(admin)
}

/// What Helm would send for these values.
fn rendered(values: &str) -> Result<Vec<Value>> {
    let mut helm = Command::new(programs::helm()?);
    helm.args(["template", "careen", "--namespace", "careen"])
        .args(["--set", values])
        .arg(of_the_installer("chart"));
    let output = helm.output()?;
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{values}: {said}");
    let text = String::from_utf8(output.stdout)?;
    Ok(serde_saphyr::from_multiple(&text)?)
}

/// A pod of the DaemonSet among these objects, in a namespace.
fn pod_of(objects: &[Value], space: &str) -> Result<Value> {
    let daemonset = objects.iter().find(|one| one["kind"] == "DaemonSet");
    let template = &daemonset.context("no DaemonSet")?["spec"]["template"];
    Ok(json!({
        "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": { "name": "installer", "namespace": space, "labels": template["metadata"]["labels"] },
    }))
}

/// The server accepts all of these objects, and admits pods of their DaemonSet into its namespace.
async fn are_taken(admin: &Client, objects: &[Value]) -> Result<()> {
    for object in objects {
        tried(admin, object).await?;
    }
    tried(admin, &pod_of(objects, "careen")?).await.map(drop)
}

#[tokio::test]
async fn api_server_accepts_install_and_uninstall_manifests() -> Result<()> {
    let admin = with_its_namespace().await?;
    for manifest in ["install.yaml", "uninstall.yaml"] {
        let objects = documents(&of_the_installer(manifest))?;
        let taken = are_taken(&admin, &objects).await;
        taken.context(manifest)?;
    }
    Ok(())
}

/// The requests that `helm install`, and the `helm upgrade` of an uninstall, send to the API
/// server.
#[tokio::test]
async fn api_server_accepts_charts_with_all_values_in_both_modes() -> Result<()> {
    let admin = with_its_namespace().await?;
    let of_a_site = [
        "image=x",
        "nodeSelector.ostree=yes",
        "tolerations[0].key=dedicated",
        "tolerations[0].operator=Exists",
        "priorityClassName=system-node-critical",
        "resources.limits.memory=256Mi",
        "imagePullSecrets[0].name=key",
    ];
    for mode in ["install", "uninstall"] {
        for values in ["image=x".to_owned(), of_a_site.join(",")] {
            let values = format!("{values},mode={mode}");
            let taken = are_taken(&admin, &rendered(&values)?).await;
            taken.context(values)?;
        }
    }
    let share = "image=x,maxUnavailable=10%";
    are_taken(&admin, &rendered(share)?).await
}

/// The reason for `namespace.yaml`: a namespace that Helm creates would not be sufficient.
#[tokio::test]
async fn baseline_namespace_rejects_the_agent_pod_for_its_host_paths() -> Result<()> {
    let admin = plane().await?.client().await?;
    let level = json!({ "pod-security.kubernetes.io/enforce": "baseline" });
    account(&admin, ("careen-baseline", "default")).await?;
    let namespace = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "careen-baseline", "labels": level },
    });
    objects::apply(&admin, &namespace).await?;
    let pod = pod_of(&rendered("image=x")?, "careen-baseline")?;
    // The server learns of the Pod Security level a moment after its creation.
    let refusal = || async {
        let refused = tried(&admin, &pod).await.err().context("it was taken")?;
        anyhow::ensure!(format!("{refused:#}").contains("hostPath"), "{refused:#}");
        Ok(())
    };
    objects::until("the pod refused", PATIENCE, refusal).await
}

/// The server accepts the DaemonSet itself in any namespace; admission checks its pods.
#[tokio::test]
async fn a_pod_of_the_proxy_is_let_into_its_namespace() -> Result<()> {
    let admin = installed().await?;
    let template = &daemonset()?["spec"]["template"];
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "spec": template["spec"],
        "metadata": { "name": "proxy", "namespace": PROXY.0, "labels": template["metadata"]["labels"] },
    });
    tried(&admin, &pod).await?;
    Ok(())
}

#[tokio::test]
async fn proxy_accepts_only_scraper_tokens_for_its_audience() -> Result<()> {
    let admin = installed().await?;
    let proxy = Proxy::new(&admin).await?;
    let audience = [proxy.audience()];
    let ours = token(&admin, SCRAPER, &audience).await?;
    assert_eq!(proxy.refusal(&ours, "get", "/metrics").await?, None);
    assert_eq!(proxy.refusal(&ours, "post", "/metrics").await?, Some(403));
    assert_eq!(proxy.refusal(&ours, "get", "/").await?, Some(404));
    for other in [STRANGER, PROXY] {
        let theirs = token(&admin, other, &audience).await?;
        let refused = proxy.refusal(&theirs, "get", "/metrics").await?;
        assert_eq!(refused, Some(403), "{other:?}");
    }
    let for_the_server = token(&admin, SCRAPER, &[]).await?;
    for none in [&for_the_server, "", "nonsense"] {
        let refused = proxy.refusal(none, "get", "/metrics").await?;
        assert_eq!(refused, Some(401), "{none}");
    }
    Ok(())
}

/// A program that takes the proxy's place on a node receives this token.
#[tokio::test]
async fn the_scrapers_token_opens_nothing_at_the_api_server() -> Result<()> {
    let admin = installed().await?;
    let proxy = Proxy::new(&admin).await?;
    let config = async |audiences: &[&str]| -> Result<Client> {
        let plane = plane().await?;
        let mut content = kube::config::Kubeconfig::read_from(plane.admin_kubeconfig())?;
        let token = token(&admin, SCRAPER, audiences).await?;
        for user in &mut content.auth_infos {
            user.auth_info = Some(serde_json::from_value(json!({ "token": token }))?);
        }
        let options = kube::config::KubeConfigOptions::default();
        let config = kube::Config::from_custom_kubeconfig(content, &options).await?;
        Ok(Client::try_from(config)?)
    };
    let metrics = async |client: &Client| {
        let request = http::Request::get("/metrics").body(Vec::new());
        anyhow::Ok(client.request_text(request?).await)
    };
    let shown = metrics(&config(&[proxy.audience()]).await?).await?;
    let refused = matches!(&shown, Err(kube::Error::Api(status)) if status.code == 401);
    assert!(refused, "{shown:?}");
    let other = metrics(&config(&[]).await?).await?;
    assert!(other.is_ok(), "the account itself may: {other:?}");
    Ok(())
}

/// Whether the API server allows this request for an account.
async fn may(admin: &Client, (space, name): Account<'_>, what: Value) -> Result<bool> {
    let mut spec = json!({
        "user": format!("system:serviceaccount:{space}:{name}"),
        "groups": ["system:authenticated", "system:serviceaccounts", format!("system:serviceaccounts:{space}")],
    });
    careen_tests::node::merge(&mut spec, what);
    let reviews: Api<SubjectAccessReview> = Api::all(admin.clone());
    let review = serde_json::from_value(json!({ "spec": spec }))?;
    let answer = reviews.create(&PostParams::default(), &review).await?;
    Ok(answer.status.context("no answer")?.allowed)
}

fn of(resource: &str, verb: &str) -> Value {
    let (resource, group) = resource.split_once('.').unwrap_or((resource, ""));
    json!({ "resourceAttributes": { "group": group, "resource": resource, "verb": verb } })
}

#[tokio::test]
async fn scraper_and_proxy_accounts_have_only_the_rights_they_use() -> Result<()> {
    let admin = installed().await?;
    let metrics =
        |verb: &str| json!({ "nonResourceAttributes": { "path": "/metrics", "verb": verb } });
    let questions = [
        "tokenreviews.authentication.k8s.io",
        "subjectaccessreviews.authorization.k8s.io",
    ];
    for verb in ["get", "list", "watch"] {
        assert!(may(&admin, SCRAPER, of("nodes", verb)).await?, "{verb}");
        assert!(!may(&admin, PROXY, of("nodes", verb)).await?, "{verb}");
    }
    for question in questions {
        assert!(may(&admin, PROXY, of(question, "create")).await?);
        assert!(!may(&admin, SCRAPER, of(question, "create")).await?);
    }
    for (account, asked) in [
        (SCRAPER, of("nodes", "patch")),
        (SCRAPER, of("pods", "list")),
        (SCRAPER, of("secrets", "get")),
        (SCRAPER, metrics("post")),
        (PROXY, of("secrets", "get")),
        (PROXY, of("pods", "create")),
        (PROXY, metrics("get")),
    ] {
        assert!(!may(&admin, account, asked.clone()).await?, "{asked}");
    }
    Ok(())
}

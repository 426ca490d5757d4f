//! Objects of any kind as JSON: applies them and waits for them.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use kube::Client;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use serde_json::Value;

/// How many objects are applied at a time.
const AT_ONCE: usize = 4;

/// The pause between two queries.
const PAUSE: Duration = Duration::from_millis(250);

/// With progress, a wait may last this many times its patience.
const LONGEST: u32 = 5;

/// The API of a kind, for all namespaces or one. The plural follows kubebuilder's rule; every kind
/// here follows it.
#[must_use]
pub fn api(
    client: &Client,
    kind: &GroupVersionKind,
    namespace: Option<&str>,
) -> Api<DynamicObject> {
    let resource = ApiResource::from_gvk(kind);
    match namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// A kind by `group/version` and name.
///
/// # Errors
///
/// Fails when `api_version` has more than one slash.
pub fn kind(api_version: &str, kind: &str) -> Result<GroupVersionKind> {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    Ok(GroupVersionKind::gvk(group, version, kind))
}

/// Applies one object on the server side. On the client side the ClusterClass definition is too
/// large for its own annotation.
///
/// # Errors
///
/// Fails when the API server refuses. The message names the object.
pub async fn apply(client: &Client, object: &Value) -> Result<DynamicObject> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str);
    let word = text("/kind").context("an object without a kind")?;
    let name = text("/metadata/name").context("an object without a name")?;
    let version = text("/apiVersion").context("an object without an apiVersion")?;
    let api = api(client, &kind(version, word)?, text("/metadata/namespace"));
    let how = PatchParams::apply("careen-rig").force();
    let applied = api.patch(name, &how, &Patch::Apply(object)).await;
    applied.with_context(|| format!("cannot apply {word} {name}"))
}

/// Applies many objects.
///
/// # Errors
///
/// Fails like [`apply`].
pub async fn apply_all(client: &Client, objects: &[Value]) -> Result<()> {
    // Boxed, because the compiler does not see that the futures of a closure over references are
    // Send.
    let each = objects.iter().map(|object| apply(client, object).boxed());
    let each: Vec<BoxFuture<'_, Result<DynamicObject>>> = each.collect();
    stream::iter(each)
        .buffer_unordered(AT_ONCE)
        .try_for_each(|_| async { Ok(()) })
        .await
}

/// Asks until the answer is there. A busy machine is slow, not stuck: as long as the interim result
/// changes, it waits up to [`LONGEST`] times `patience`.
///
/// # Errors
///
/// Fails when the result does not change for `patience`. The error is the last result.
pub async fn until<T, F>(what: &str, patience: Duration, mut ask: impl FnMut() -> F) -> Result<T>
where
    F: Future<Output = Result<T>>,
{
    let start = Instant::now();
    let (mut said, mut since) = (String::new(), start);
    loop {
        let error = match ask().await {
            Ok(answer) => return Ok(answer),
            Err(error) => format!("{error:#}"),
        };
        if error != said {
            (said, since) = (error, Instant::now());
        }
        if since.elapsed() > patience || start.elapsed() > patience * LONGEST {
            bail!("{what}: not after {:?}: {said}", start.elapsed());
        }
        tokio::time::sleep(PAUSE).await;
    }
}

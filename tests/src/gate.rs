//! A gate in front of a Node: each write by the Node's own credential waits until the test decides
//! about it. To the API server the gate is an admission webhook, so the agent receives the server's
//! own answer.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, Patch, PatchParams, PostParams};
use provider::tls;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio_rustls::TlsAcceptor;

use crate::cluster::PATIENCE;
use crate::node::TestNode;

/// The address on which it listens.
const HOST: &str = "127.0.0.1";

/// A gate. After it is dropped, all writes pass.
pub struct Gate {
    asked: mpsc::UnboundedReceiver<Asked>,
}

/// A write that waits at the gate.
pub struct Asked {
    answer: oneshot::Sender<Value>,
}

impl Asked {
    /// Lets it pass.
    pub fn allow(self) {
        let _ = self.answer.send(json!({ "allowed": true }));
    }

    /// Makes the server refuse it with this code.
    pub fn refuse(self, code: u16) {
        let status = json!({ "code": code, "message": "the gate is shut" });
        let _ = self
            .answer
            .send(json!({ "allowed": false, "status": status }));
    }
}

impl Gate {
    /// Sets a gate in front of what this Node's credential writes to `resource`, `nodes` or
    /// `nodes/status`.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn before(node: &TestNode, resource: &str) -> Result<Self> {
        let (ask, asked) = mpsc::unbounded_channel();
        let listener = TcpListener::bind((HOST, 0)).await?;
        let port = listener.local_addr()?.port();
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let pair = tls::make(None, &[HOST.to_owned()], i64::try_from(now)?)?;
        tokio::spawn(serve(listener, acceptor(&pair)?, ask));
        let hook = webhook(node, resource, port, &pair.authorities);
        let hooks: Api<ValidatingWebhookConfiguration> = Api::all(node.admin.clone());
        hooks
            .create(&PostParams::default(), &serde_json::from_value(hook)?)
            .await?;
        let mut this = Self { asked };
        tokio::time::timeout(PATIENCE, this.is_there(node, resource))
            .await
            .context("the API server never asks the gate")??;
        Ok(this)
    }

    /// The next write that reaches the gate.
    ///
    /// # Errors
    /// When no write comes.
    pub async fn next(&mut self) -> Result<Asked> {
        let next = tokio::time::timeout(PATIENCE, self.asked.recv()).await;
        next.context("nothing comes to the gate")?
            .context("the gate is gone")
    }

    /// The server applies the webhook within about a second. This waits until a write that changes
    /// nothing reaches the gate.
    async fn is_there(&mut self, node: &TestNode, resource: &str) -> Result<()> {
        let nodes: Api<k8s_openapi::api::core::v1::Node> = Api::all(node.as_kubelet().await?);
        let dry = PatchParams {
            dry_run: true,
            ..PatchParams::default()
        };
        let nothing =
            Patch::Merge(json!({ "metadata": { "annotations": { "gate/there": "yes" } } }));
        loop {
            let write = async {
                match resource {
                    "nodes" => nodes.patch(&node.name, &dry, &nothing).await,
                    _ => nodes.patch_status(&node.name, &dry, &nothing).await,
                }
            };
            let mut write = std::pin::pin!(write);
            tokio::select! {
                written = &mut write => written?,
                Some(asked) = self.asked.recv() => {
                    asked.allow();
                    write.await?;
                    return Ok(());
                }
            };
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
}

fn webhook(node: &TestNode, resource: &str, port: u16, authority: &str) -> Value {
    let user = format!("request.userInfo.username == 'system:node:{}'", node.name);
    let name = format!("{}-{}", node.name, resource.replace('/', "-"));
    json!({
        "metadata": { "name": name },
        "webhooks": [{
            "name": "gate.careen.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "failurePolicy": "Ignore", "timeoutSeconds": 30,
            "clientConfig": {
                "url": format!("https://{HOST}:{port}/"),
                "caBundle": ByteString(authority.as_bytes().to_vec()),
            },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "operations": ["UPDATE"], "resources": [resource],
            }],
            "matchConditions": [{ "name": "its-own", "expression": user }],
        }],
    })
}

fn acceptor(pair: &tls::Pair) -> Result<TlsAcceptor> {
    let current = Arc::new(tls::Current::default());
    current.set(pair.certificate.as_bytes(), pair.key.as_bytes())?;
    let mut config = tls::config(current, None)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, ask: mpsc::UnboundedSender<Asked>) {
    while let Ok((stream, _)) = listener.accept().await {
        let (acceptor, ask) = (acceptor.clone(), ask.clone());
        tokio::spawn(async move {
            let stream = acceptor.accept(stream).await?;
            let answer = service_fn(|request| review(request, ask.clone()));
            http1::Builder::new()
                .serve_connection(TokioIo::new(stream), answer)
                .await?;
            Ok::<_, anyhow::Error>(())
        });
    }
}

/// NodeAccess one write to the test. A write passes when the test no longer listens.
async fn review(
    request: Request<Incoming>,
    ask: mpsc::UnboundedSender<Asked>,
) -> Result<Response<Full<Bytes>>> {
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body)?;
    let (answer, said) = oneshot::channel();
    let _ = ask.send(Asked { answer });
    let mut response = said.await.unwrap_or_else(|_| json!({ "allowed": true }));
    response["uid"] = review["request"]["uid"].clone();
    let answer = json!({
        "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
    });
    let mut response = Response::new(Full::from(answer.to_string()));
    let json = http::HeaderValue::from_static("application/json");
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, json);
    Ok(response)
}

//! A client that holds a credential and tests its rights.

use anyhow::{Context, Result, ensure};
use careen_tests::cluster::PATIENCE;
use http::Request;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::{Value, json};
use testkit::cluster_api::objects;

/// One request.
#[derive(Clone)]
pub struct Try {
    verb: &'static str,
    path: String,
    body: Value,
}

pub fn get(path: impl Into<String>) -> Try {
    with_body("GET", path, Value::Null)
}

pub fn delete(path: impl Into<String>) -> Try {
    with_body("DELETE", path, Value::Null)
}

pub fn post(path: impl Into<String>, body: Value) -> Try {
    with_body("POST", path, body)
}

pub fn patch(path: impl Into<String>, body: Value) -> Try {
    with_body("PATCH", path, body)
}

fn with_body(verb: &'static str, path: impl Into<String>, body: Value) -> Try {
    let path = path.into();
    Try { verb, path, body }
}

/// A client with one credential.
pub struct Hand(pub Client);

impl Hand {
    /// A client with the credential of a kubeconfig, as soon as the server accepts it.
    pub async fn with(content: Kubeconfig) -> Result<Self> {
        let options = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(content, &options).await?;
        let hand = Self(Client::try_from(config)?);
        let reviews = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
        hand.comes_to(&post(reviews, json!({}))).await?;
        Ok(hand)
    }

    /// The status code of the API server's answer: 200 for every success.
    pub async fn code(&self, what: &Try) -> Result<u16> {
        let kind = if what.verb == "PATCH" {
            "application/merge-patch+json"
        } else {
            "application/json"
        };
        let body = if what.body.is_null() {
            Vec::new()
        } else {
            serde_json::to_vec(&what.body)?
        };
        let request = Request::builder()
            .method(what.verb)
            .uri(&what.path)
            .header("Content-Type", kind)
            .body(body)?;
        match self.0.request_text(request).await {
            Ok(_) => Ok(200),
            Err(kube::Error::Api(status)) => Ok(status.code),
            Err(error) => Err(error).context(what.path.clone()),
        }
    }

    /// Each of these requests succeeds. In the other tests only the identity of the caller makes
    /// such a request fail.
    pub async fn may(&self, tries: &[Try]) -> Result<()> {
        self.expect(200, tries).await
    }

    /// Waits until this request succeeds: the server learns of new pods, accounts and rights a
    /// moment after their creation.
    pub async fn comes_to(&self, what: &Try) -> Result<()> {
        let ask = || self.may(std::slice::from_ref(what));
        objects::until("the server knows what was made", PATIENCE, ask).await
    }

    /// Each of these is forbidden.
    pub async fn may_not(&self, tries: &[Try]) -> Result<()> {
        self.expect(403, tries).await
    }

    async fn expect(&self, expected: u16, tries: &[Try]) -> Result<()> {
        for what in tries {
            let code = self.code(what).await?;
            let Try { verb, path, body } = what;
            ensure!(code == expected, "{code} for {verb} {path} {body}");
        }
        Ok(())
    }
}

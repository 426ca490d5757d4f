//! The requests to the API server of the management cluster.

use std::cell::RefCell;
use std::time::{Duration, Instant};

use client::kubeconfig::{self, Variables};
use client::{NoAnswer, chain, in_time};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use kube::api::{
    Api as Objects, ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::config::Kubeconfig;
use life::ClaimId;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use prepared::api::{Api, Own};
use prepared::identity::Identity;
use prepared::settings::Settings;
use prepared::{OnDisk, Paths};

use crate::real::runtime;

/// How long one answer may take.
const PATIENCE: Duration = Duration::from_secs(15);

/// Where first tokens are handed over. careen-provider makes this namespace.
const REGISTRATIONS: &str = "careen-registrations";

/// How the names of a host's ServiceAccount, Secret and Lease begin.
const OF_A_HOST: &str = "careen-host-";

/// How long a token lives, in seconds.
const TOKEN_SECONDS: u64 = 24 * 3600;

/// A connection that was used this recently is used again. What is on the way to the server may drop
/// one that nobody uses for longer, without a word.
const WARM: Duration = Duration::from_secs(30);

/// The client of the last request, with the host's own token.
struct Kept {
    token: String,
    client: Client,
    used: Instant,
}

/// The requests of one host.
pub struct Cluster {
    runtime: Runtime,
    paths: Paths,
    settings: Settings,
    name: String,
    identity: Identity,
    kept: RefCell<Option<Kept>>,
    /// The server has refused the host's own token at the last read.
    refused: bool,
    /// Why there is no other token.
    unregistered: Option<String>,
}

/// Why a request failed.
#[derive(Debug)]
struct Failed {
    why: String,
    code: u16,
}

impl From<kube::Error> for Failed {
    fn from(error: kube::Error) -> Self {
        let mut failed = Self::here(&chain(&error));
        if let kube::Error::Api(answer) = error {
            failed.code = answer.code;
        }
        failed
    }
}

impl Failed {
    /// The server has not refused.
    fn here(why: &dyn std::fmt::Display) -> Self {
        let why = why.to_string();
        Self { why, code: 0 }
    }
}

impl From<NoAnswer> for Failed {
    fn from(NoAnswer(limit): NoAnswer) -> Self {
        let seconds = limit.as_secs();
        Self::here(&format!("the API server did not answer in {seconds} s"))
    }
}

type Answer<T> = Result<T, Failed>;

impl Cluster {
    /// The requests of the host of this name.
    ///
    /// # Errors
    /// Its credential cannot be read, or the process cannot have a runtime.
    pub fn new(paths: &Paths, settings: Settings, name: String) -> Result<Self, String> {
        let identity = Identity::read(paths, &OnDisk).map_err(|error| error.to_string())?;
        Ok(Self {
            runtime: runtime()?,
            paths: paths.clone(),
            settings,
            name,
            identity,
            kept: RefCell::default(),
            refused: false,
            unregistered: None,
        })
    }

    fn own_name(&self) -> String {
        format!("{OF_A_HOST}{}", self.name)
    }

    fn client(&self, token: &str) -> Answer<Client> {
        let pem = self.settings.certificate_authority.as_bytes();
        let content: Kubeconfig = serde_json::from_value(json!({
            "current-context": "host",
            "contexts": [{ "name": "host", "context": { "cluster": "host", "user": "host" } }],
            "clusters": [{ "name": "host", "cluster": {
                "server": self.settings.server,
                "certificate-authority-data": base64::Engine::encode(&base64::prelude::BASE64_STANDARD, pem),
            } }],
            "users": [{ "name": "host", "user": { "token": token } }],
        }))
        .map_err(|error| Failed::here(&error))?;
        let config = kubeconfig::config(content, None, &Variables::of_process());
        let mut config = config.map_err(|error| Failed::here(&chain(&error)))?;
        config.connect_timeout = Some(PATIENCE);
        config.read_timeout = Some(PATIENCE);
        // The client starts a task, which belongs to this runtime.
        let _entered = self.runtime.enter();
        Ok(Client::try_from(config)?)
    }

    /// A client with the host's own token. A handshake costs more than a request.
    fn mine(&self) -> Answer<Client> {
        let token = self.identity.token.clone().unwrap_or_default();
        let is_good = |kept: &Kept| kept.token == token && kept.used.elapsed() < WARM;
        let kept = self.kept.take().filter(is_good);
        let client = match kept {
            Some(kept) => kept.client,
            None => self.client(&token)?,
        };
        let kept = Kept {
            token,
            client: client.clone(),
            used: Instant::now(),
        };
        self.kept.replace(Some(kept));
        Ok(client)
    }

    fn hosts(&self, client: Client) -> Objects<DynamicObject> {
        let kind = GroupVersionKind::gvk("careen.dev", "v1alpha1", "CareenHost");
        Objects::namespaced_with(
            client,
            &self.settings.namespace,
            &ApiResource::from_gvk(&kind),
        )
    }

    /// Makes the host known. One that is known already is refused unless the first token is where
    /// this host looks for it.
    fn register(&mut self) -> Answer<()> {
        let client = self.client(&self.settings.token)?;
        let object = json!({
            "apiVersion": "careen.dev/v1alpha1", "kind": "CareenHost",
            "metadata": { "name": self.name, "namespace": self.settings.namespace },
            "spec": { "registration": self.settings.registration, "handover": self.identity.handover },
        });
        let object = serde_json::from_value(object).map_err(|error| Failed::here(&error))?;
        let hosts = self.hosts(client.clone());
        let created = self.wait(async { hosts.create(&PostParams::default(), &object).await });
        if let Err(failed) = created
            && failed.code != 409
        {
            return Err(failed);
        }
        let secrets: Objects<Secret> = Objects::namespaced(client, REGISTRATIONS);
        let handed = self.wait(async { secrets.get(&self.identity.handover).await });
        let secret = handed.map_err(|failed| match failed.code {
            404 => self.waits(),
            _ => failed,
        })?;
        // How old this token is does not show. The next one is asked for at once.
        match text(&secret, "token") {
            Some(token) => self.keep(token, 0),
            None => Ok(()),
        }
    }

    fn waits(&self) -> Failed {
        let name = &self.name;
        let why = match self.identity.token.is_some() {
            false => format!(
                "CareenHost {name} waits for approval, or another host has its name. Approve it, or set name in host.toml."
            ),
            true => format!(
                "no other token is handed over to CareenHost {name}. careen-provider does so when it does not hear of the host for 12 h."
            ),
        };
        Failed { why, code: 404 }
    }

    fn renew_token(&mut self) -> Answer<()> {
        let accounts: Objects<ServiceAccount> =
            Objects::namespaced(self.mine()?, &self.settings.namespace);
        let request = json!({ "spec": { "audiences": [], "expirationSeconds": TOKEN_SECONDS } });
        let request: TokenRequest =
            serde_json::from_value(request).map_err(|error| Failed::here(&error))?;
        let (name, params) = (self.own_name(), PostParams::default());
        let answer = self.wait(async {
            accounts
                .create_token_request(&name, &params, &request)
                .await
        })?;
        match answer.status {
            Some(status) => self.keep(status.token, host::os::wall()),
            None => Ok(()),
        }
    }

    fn keep(&mut self, token: String, since: u64) -> Answer<()> {
        self.identity.token = Some(token);
        self.identity.since = since;
        (self.refused, self.unregistered) = (false, None);
        let written = self.identity.write(&self.paths, &OnDisk);
        written.map_err(|error| Failed::here(&error))
    }

    /// After a failure the next request has a connection of its own.
    fn wait<T>(&self, request: impl Future<Output = kube::Result<T>>) -> Answer<T> {
        let answer: Answer<T> = self.runtime.block_on(in_time(PATIENCE, request));
        if answer.is_err() {
            self.kept.replace(None);
        }
        answer
    }

    fn read_own(&self) -> Answer<DynamicObject> {
        let hosts = self.hosts(self.mine()?);
        self.wait(async { hosts.get(&self.name).await })
    }

    /// Why a request failed, with what a person can do about a token that has run out.
    fn explain(&self, failed: Failed) -> String {
        match (failed.code, &self.unregistered) {
            (401, Some(other)) => format!(
                "{}: the token of this host is refused, and another one is not there: {other} If this host was away for 12 h, put a fresh host.toml on it and restart careen-host.",
                failed.why
            ),
            (_, _) => failed.why,
        }
    }
}

impl Api for Cluster {
    fn credential(&mut self) -> Result<(), String> {
        let has_token = self.identity.token.is_some();
        let done = match has_token && !self.refused {
            false => self.register(),
            true if self.identity.is_due(host::os::wall()) => self.renew_token(),
            true => Ok(()),
        };
        match done {
            // The token may still be good, so the next read tries it: an API server that cannot look
            // up the account, because it starts or its etcd is away, answers 401 too.
            Err(failed) if has_token => {
                self.unregistered = self.refused.then_some(failed.why);
                self.refused = false;
                Ok(())
            }
            other => other.map_err(|failed| failed.why),
        }
    }

    fn own(&mut self) -> Result<Own, String> {
        let object = self.read_own().map_err(|failed| {
            self.refused = failed.code == 401;
            self.explain(failed)
        })?;
        self.unregistered = None;
        let spec = object.data.get("spec").cloned().unwrap_or_default();
        let claim = spec.get("claim").filter(|claim| !claim.is_null()).cloned();
        let claim =
            claim.map(|claim| serde_json::from_value(claim).map_err(|error| error.to_string()));
        let domain = spec.get("failureDomain").and_then(Value::as_str);
        Ok(Own {
            claim,
            failure_domain: domain.map(str::to_owned),
            status: object.data.get("status").cloned().unwrap_or_default(),
        })
    }

    fn data(&mut self) -> Result<Option<(ClaimId, String)>, String> {
        let read = || {
            let secrets: Objects<Secret> =
                Objects::namespaced(self.mine()?, &self.settings.namespace);
            self.wait(async { secrets.get_opt(&self.own_name()).await })
        };
        let secret = read().map_err(|failed| failed.why)?;
        let Some(secret) = secret else {
            return Ok(None);
        };
        let claim = text(&secret, "claim").and_then(|claim| claim.parse().ok());
        Ok(claim.zip(text(&secret, "value")))
    }

    fn say(&mut self, status: &Value) -> Result<(), String> {
        let say = || {
            let hosts = self.hosts(self.mine()?);
            let patch = Patch::Merge(json!({ "status": status }));
            let params = PatchParams::default();
            self.wait(async { hosts.patch_status(&self.name, &params, &patch).await })
        };
        say().map(drop).map_err(|failed| self.explain(failed))
    }

    fn renew(&mut self) -> Result<(), String> {
        let renew = || {
            let leases: Objects<Lease> =
                Objects::namespaced(self.mine()?, &self.settings.namespace);
            let now = format!("{:.6}", Timestamp::now());
            let patch = Patch::Merge(json!({ "spec": { "renewTime": now } }));
            let (name, params) = (self.own_name(), PatchParams::default());
            self.wait(async { leases.patch(&name, &params, &patch).await })
        };
        renew().map(drop).map_err(|failed| failed.why)
    }
}

fn text(secret: &Secret, key: &str) -> Option<String> {
    let bytes = secret.data.as_ref()?.get(key)?;
    String::from_utf8(bytes.0.clone()).ok()
}

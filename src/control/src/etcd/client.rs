//! One request to a member, over TLS with a client certificate.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1;
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};
use upgrade::sanitize;

use super::address::Address;
use super::failed::Failed;
use super::stream::{IDLE, Sender, Stream};

/// How long a member has for an answer. A member that has lost its quorum answers at once.
const PATIENCE: Duration = Duration::from_secs(5);

/// No answer that is read here is longer.
const LONGEST: usize = 256 << 10;

/// The credential of a client, and the authority of the servers.
#[derive(Clone)]
pub struct Client {
    tls: TlsConnector,
    patience: Duration,
}

/// Files that are no credential. The message says nothing of their content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Unusable(&'static str);

impl Client {
    /// A client with this authority, certificate and key, each as PEM.
    ///
    /// # Errors
    /// One of them is not usable.
    pub fn new(authority: &str, certificate: &str, key: &str) -> Result<Self, Unusable> {
        let mut roots = RootCertStore::empty();
        for root in certificates(authority)? {
            let added = roots.add(root);
            added.map_err(|_| Unusable("the authority's certificate cannot be used"))?;
        }
        let key = PrivateKeyDer::from_pem_slice(key.as_bytes());
        let key = key.map_err(|_| Unusable("the file has no private key"))?;
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
        let builder = builder.with_safe_default_protocol_versions();
        let builder = builder.map_err(|_| Unusable("TLS cannot be used"))?;
        let tls = builder
            .with_root_certificates(roots)
            .with_client_auth_cert(certificates(certificate)?, key);
        let tls = tls.map_err(|_| Unusable("certificate and key cannot be used together"))?;
        Ok(Self {
            tls: TlsConnector::from(Arc::new(tls)),
            patience: PATIENCE,
        })
    }

    /// The same with less patience, for tests.
    #[must_use]
    pub fn patient_for(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// Posts JSON to a path and returns the answer.
    ///
    /// # Errors
    /// See [`Failed`].
    pub async fn post(
        &self,
        address: &Address,
        path: &'static str,
        body: impl Into<Bytes>,
    ) -> Result<String, Failed> {
        let answer = tokio::time::timeout(self.patience, self.ask(address, path, body.into()));
        answer.await.unwrap_or(Err(Failed::Late(self.patience)))
    }

    /// Posts JSON to a path, and returns an answer that may be long or slow. Each part of it has
    /// [`IDLE`].
    ///
    /// # Errors
    /// See [`Failed`].
    pub async fn stream(
        &self,
        address: &Address,
        path: &'static str,
        body: impl Into<Bytes>,
    ) -> Result<Stream, Failed> {
        let begun = tokio::time::timeout(IDLE, self.begin(address, path, body.into()));
        let (answer, sender) = begun.await.unwrap_or(Err(Failed::Late(IDLE)))?;
        match answer.status().is_success() {
            true => Ok(Stream::new(answer.into_body(), sender)),
            false => Err(refused(answer).await),
        }
    }

    async fn ask(
        &self,
        address: &Address,
        path: &'static str,
        body: Bytes,
    ) -> Result<String, Failed> {
        // The connection ends with the sender, at the end of this function.
        let (answer, _sender) = self.begin(address, path, body).await?;
        match answer.status().is_success() {
            true => text(answer).await,
            false => Err(refused(answer).await),
        }
    }

    async fn begin(
        &self,
        address: &Address,
        path: &'static str,
        body: Bytes,
    ) -> Result<(Response<Incoming>, Sender), Failed> {
        let authority = address.authority();
        let name = address.server_name();
        let name = name.ok_or_else(|| io::Error::other("its address has no name"))?;
        let stream = TcpStream::connect(&authority).await?;
        let stream = self.tls.connect(name, stream).await?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        tokio::spawn(connection);
        let request = Request::builder()
            .method(Method::POST)
            .uri(path)
            .header("host", authority)
            .header("content-type", "application/json")
            .body(Full::new(body))?;
        let answer = sender.send_request(request).await?;
        Ok((answer, sender))
    }
}

async fn text(answer: Response<Incoming>) -> Result<String, Failed> {
    let read = Limited::new(answer.into_body(), LONGEST).collect().await;
    let read = read.map_err(|error| Failed::Body(client::chain(error.as_ref())))?;
    Ok(String::from_utf8_lossy(&read.to_bytes()).into_owned())
}

async fn refused(answer: Response<Incoming>) -> Failed {
    let status = answer.status();
    match text(answer).await {
        Ok(said) => Failed::Refused {
            status,
            said: sanitize::cut(&said, 200),
        },
        Err(error) => error,
    }
}

fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, Unusable> {
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem.as_bytes()).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) | Err(_) => Err(Unusable("the file has no certificate")),
    }
}

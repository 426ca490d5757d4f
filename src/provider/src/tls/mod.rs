//! The certificate of the hooks' server. It comes from a folder, or the provider creates and renews
//! it. Either may change while the server runs.

mod extension;
mod given;
mod own;
mod pair;

use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert, WebPkiClientVerifier};
use rustls::sign::CertifiedKey;
use thiserror::Error;

pub use extension::{Bundle, keep_ca_bundle};
pub use given::follow as follow_folder;
pub use own::{Own, follow as follow_secret};
pub use pair::{Due, Pair, due, make};

/// Why there is no certificate to serve with.
#[derive(Debug, Error)]
pub enum TlsError {
    /// A file or a PEM text is not usable.
    #[error("cannot use {what}: {detail}. Correct it.")]
    Unusable {
        /// Its name.
        what: String,
        /// The reason.
        detail: String,
    },
    /// The Secret cannot be read or written.
    #[error("cannot read or write Secret {name}: {error}. Check that Secret and the rights to it.")]
    Secret {
        /// Its name.
        name: String,
        /// The error.
        error: crate::hands::HandError,
    },
}

pub(crate) fn unusable(what: &str, detail: impl ToString) -> TlsError {
    TlsError::Unusable {
        what: what.to_owned(),
        detail: detail.to_string(),
    }
}

/// The current certificate. The server offers it for any requested name, because core sends none
/// for an IP address.
#[derive(Debug, Default)]
pub struct Current(RwLock<Option<Arc<CertifiedKey>>>);

impl ResolvesServerCert for Current {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Current {
    /// Loads a new pair.
    ///
    /// # Errors
    /// If the two are not a certificate and its key.
    pub fn set(&self, certificate: &[u8], key: &[u8]) -> Result<(), TlsError> {
        let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(certificate).collect();
        let chain = chain.map_err(|error| unusable("the certificate", format!("{error:?}")))?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| unusable("the key", format!("{error:?}")))?;
        let provider = rustls::crypto::ring::default_provider();
        let certified = CertifiedKey::from_der(chain, key, &provider)
            .map_err(|error| unusable("the pair", error))?;
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(certified));
        Ok(())
    }

    /// Whether there is a certificate.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.0
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .is_some()
    }
}

/// The TLS settings: 1.2 and later, HTTP/2 or 1.1, and client certificates if an authority for them
/// is given.
///
/// # Errors
/// If that authority cannot be read.
pub fn config(current: Arc<Current>, client_ca: Option<&Path>) -> Result<ServerConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| unusable("TLS", error))?;
    let builder = match client_ca {
        None => builder.with_no_client_auth(),
        Some(path) => {
            let what = path.display().to_string();
            let mut roots = rustls::RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(path)
                .map_err(|error| unusable(&what, format!("{error:?}")))?;
            for certificate in certificates {
                let certificate =
                    certificate.map_err(|error| unusable(&what, format!("{error:?}")))?;
                roots
                    .add(certificate)
                    .map_err(|error| unusable(&what, error))?;
            }
            let verifier =
                WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
            builder.with_client_cert_verifier(verifier.map_err(|error| unusable(&what, error))?)
        }
    };
    let mut config = builder.with_cert_resolver(current);
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

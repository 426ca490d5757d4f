//! The certificate that the server offers. It may change while the server runs.

use std::sync::{Arc, PoisonError, RwLock};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use super::error::{TlsError, unusable};

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

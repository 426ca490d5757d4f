//! The certificate of the hooks' server. It comes from a folder, or the provider creates and renews
//! it. Either may change while the server runs.
//!
//! Core learns whom to trust from the Secret that an annotation of the ExtensionConfig names
//! ([`crate::names::CA_FROM_SECRET`]).

mod current;
mod error;
mod given;
mod own;
mod pair;

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::server::WebPkiClientVerifier;

pub use current::Current;
pub use error::TlsError;
use error::unusable;
pub use given::follow as follow_folder;
pub use own::{Own, follow as follow_secret};
pub use pair::{Due, Pair, due, make};

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

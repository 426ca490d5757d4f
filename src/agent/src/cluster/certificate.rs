//! The content of the kubelet's client certificate.

use std::fs;
use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use client::kubeconfig;
use kube::config::{AuthInfo, Kubeconfig};
use x509_parser::pem::Pem;

/// The content of a certificate, in seconds since 1970.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Certificate {
    /// The user that it belongs to.
    pub user: String,
    /// The start of its validity.
    pub from: u64,
    /// The end of its validity.
    pub until: u64,
}

/// The credential of a kubeconfig's user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Held {
    /// A certificate.
    Certificate(Certificate),
    /// A token, which cannot be inspected.
    Token,
}

/// Why the credential cannot be inspected.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unseen {
    /// No readable kubeconfig exists: the node has not joined.
    #[error("{0}")]
    Kubeconfig(String),
    /// It names no user.
    #[error("it does not name a user")]
    NoUser,
    /// Its user's certificate cannot be read.
    #[error("{0}")]
    Certificate(String),
}

/// Reads this kubeconfig and the files that it names, as they are on the disk now.
///
/// # Errors
/// See [`Unseen`].
pub fn held(path: &Path) -> Result<Held, Unseen> {
    let content = kubeconfig::read(path);
    let content = content.map_err(|error| Unseen::Kubeconfig(kubeconfig::cause(&error)))?;
    let user = user(&content).ok_or(Unseen::NoUser)?;
    if user.token.is_some() || user.token_file.is_some() {
        return Ok(Held::Token);
    }
    let found = certificate(&user).map_err(Unseen::Certificate)?;
    Ok(Held::Certificate(found))
}

/// The user of the current context, or the only one.
fn user(content: &Kubeconfig) -> Option<AuthInfo> {
    let current = content.current_context.as_ref();
    let context = content
        .contexts
        .iter()
        .find(|named| Some(&named.name) == current);
    let wanted = context.and_then(|named| named.context.as_ref()?.user.clone());
    let mut users = content.auth_infos.iter();
    let found = users.find(|named| wanted.as_ref().is_none_or(|name| *name == named.name));
    found?.auth_info.clone()
}

fn certificate(user: &AuthInfo) -> Result<Certificate, String> {
    let pem = match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) => STANDARD.decode(data).map_err(|error| error.to_string())?,
        (None, Some(path)) => fs::read(path).map_err(|error| format!("{path}: {error}"))?,
        (None, None) => return Err("it does not have a client certificate".to_owned()),
    };
    // The kubelet keeps key and certificate in one file.
    let blocks = Pem::iter_from_buffer(&pem).flatten();
    let mut certificates = blocks.filter(|block| block.label == "CERTIFICATE");
    let block = certificates
        .next()
        .ok_or("it does not contain a certificate")?;
    let found = block.parse_x509().map_err(|error| error.to_string())?;
    let seconds = |time: i64| u64::try_from(time).unwrap_or(0);
    let mut names = found.subject().iter_common_name();
    Ok(Certificate {
        user: names
            .find_map(|name| name.as_str().ok())
            .unwrap_or_default()
            .to_owned(),
        from: seconds(found.validity().not_before.timestamp()),
        until: seconds(found.validity().not_after.timestamp()),
    })
}

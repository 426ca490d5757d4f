//! The provider's own authority and a certificate that it issues. The caller supplies the time.

use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, date_time_ymd,
};
use serde::{Deserialize, Serialize};

use super::error::{TlsError, unusable};

const DAY: i64 = 24 * 3600;

/// How long an authority is valid, and how long before its end it is replaced. It is long, because
/// a new authority changes the trust of every caller.
const AUTHORITY: (i64, i64) = (10 * 365 * DAY, 365 * DAY);

/// How long a certificate is valid, and how long before its end it is replaced. A provider that was
/// down for a month can still serve.
const CERTIFICATE: (i64, i64) = (90 * DAY, 30 * DAY);

/// Backdates the start, because clocks differ a little between machines.
const BEFORE: i64 = 3600;

/// An authority and a certificate that it issued, all in PEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pair {
    /// The authority and its predecessor, which clients should trust.
    pub authorities: String,
    /// The authority's key.
    pub authority_key: String,
    /// The certificate.
    pub certificate: String,
    /// Its key.
    pub key: String,
    /// When they expire and which names they cover.
    pub terms: Terms,
}

/// When a pair expires and which names it covers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Terms {
    /// Names and addresses.
    pub names: Vec<String>,
    /// When the authority expires, in seconds since 1970.
    pub authority_ends: i64,
    /// When the certificate expires, in seconds since 1970.
    pub ends: i64,
}

/// What must be renewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Due {
    /// Nothing.
    Nothing,
    /// The certificate.
    Certificate,
    /// The authority too.
    Both,
}

/// Whether a pair must be renewed now.
#[must_use]
pub fn due(terms: &Terms, names: &[String], now: i64) -> Due {
    if terms.authority_ends - now < AUTHORITY.1 {
        return Due::Both;
    }
    if terms.ends - now < CERTIFICATE.1 || terms.names != names {
        return Due::Certificate;
    }
    Due::Nothing
}

/// Creates what is due. Clients keep trusting the old authority next to the new one. So a client
/// can still call replicas that have not yet changed.
///
/// # Errors
/// If keys cannot be generated or the old ones cannot be read.
pub fn make(old: Option<&Pair>, names: &[String], now: i64) -> Result<Pair, TlsError> {
    let wanted = old.map_or(Due::Both, |old| due(&old.terms, names, now));
    match (old, wanted) {
        (Some(old), Due::Nothing) => Ok(old.clone()),
        (Some(old), Due::Certificate) => renew(old, names, now),
        (old, _) => begin(old, names, now),
    }
}

fn begin(old: Option<&Pair>, names: &[String], now: i64) -> Result<Pair, TlsError> {
    let failed = |error| unusable("a new authority", error);
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = authority();
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(now - BEFORE);
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(now + AUTHORITY.0);
    let certificate = params.self_signed(&key).map_err(failed)?;
    let newest_of_old = old.and_then(|old| {
        old.authorities
            .split_inclusive("-----END CERTIFICATE-----\n")
            .next()
    });
    let fresh = Pair {
        authorities: format!(
            "{}{}",
            certificate.pem().replace('\r', ""),
            newest_of_old.unwrap_or_default()
        ),
        authority_key: key.serialize_pem(),
        certificate: String::new(),
        key: String::new(),
        terms: Terms {
            authority_ends: now + AUTHORITY.0,
            ..Terms::default()
        },
    };
    renew(&fresh, names, now)
}

fn renew(old: &Pair, names: &[String], now: i64) -> Result<Pair, TlsError> {
    let failed = |error| unusable("a new certificate", error);
    let authority_key = KeyPair::from_pem(&old.authority_key).map_err(failed)?;
    let issuer = Issuer::new(authority(), authority_key);
    let key = KeyPair::generate().map_err(failed)?;
    let mut params = CertificateParams::new(names.to_vec()).map_err(failed)?;
    params.not_before = date_time_ymd(1970, 1, 1) + since_1970(now - BEFORE);
    params.not_after = date_time_ymd(1970, 1, 1) + since_1970(now + CERTIFICATE.0);
    params
        .distinguished_name
        .push(DnType::CommonName, crate::names::MANAGER);
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    let certificate = params.signed_by(&key, &issuer).map_err(failed)?;
    Ok(Pair {
        certificate: certificate.pem(),
        key: key.serialize_pem(),
        terms: Terms {
            names: names.to_vec(),
            ends: now + CERTIFICATE.0,
            ..old.terms.clone()
        },
        ..old.clone()
    })
}

/// The parameters are always the same, so the key alone is enough to recreate the issuer.
fn authority() -> CertificateParams {
    let mut params = CertificateParams::default();
    params
        .distinguished_name
        .push(DnType::CommonName, "careen-provider CA");
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn since_1970(seconds: i64) -> Duration {
    Duration::from_secs(u64::try_from(seconds).unwrap_or(0))
}

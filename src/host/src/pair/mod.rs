//! Whether a private key belongs to a certificate, without a library: the static program that
//! repairs needs this before the kubelet starts, and links no cryptography.
//!
//! A key has its public part in plain bytes, and so has the certificate. Nothing is verified: a
//! file that a power cut has torn or left behind is no attack.

mod der;
mod pem;

use der::Element;

/// Whether these two files in PEM are whole, and the key belongs to the certificate. A form that
/// kubeadm does not write counts as no.
#[must_use]
pub fn fits(certificate: &[u8], key: &[u8]) -> bool {
    does_fit(certificate, key).unwrap_or(false)
}

/// Whether this kubeconfig is whole, and the key in it belongs to the certificate in it.
#[must_use]
pub fn fits_in(kubeconfig: &[u8]) -> bool {
    let of = |field| data(pem::text(kubeconfig)?, field);
    match (of("client-certificate-data:"), of("client-key-data:")) {
        (Some(certificate), Some(key)) => fits(&certificate, &key),
        (_, None) | (None, _) => false,
    }
}

fn does_fit(certificate: &[u8], key: &[u8]) -> Option<bool> {
    let certificate = pem::block(pem::text(certificate)?, "CERTIFICATE")?;
    let key = pem::block(pem::text(key)?, "PRIVATE KEY")?;
    der::sequence(&certificate)?;
    let public = public(&key).filter(|public| !public.is_empty())?;
    let mut parts = certificate.windows(public.len());
    Some(parts.any(|part| part == public))
}

/// The public part of a key: the modulus in PKCS #1 (RFC 8017, A.1.2), the point in SEC 1 (RFC
/// 5915), or that of the key inside of PKCS #8 (RFC 5208).
fn public(key: &[u8]) -> Option<&[u8]> {
    let all = der::elements(der::sequence(key)?)?;
    let [_version, second, rest @ ..] = &all[..] else {
        return None;
    };
    match second.tag {
        der::INTEGER => Some(second.content),
        der::OCTETS => point(rest),
        der::SEQUENCE => public(rest.first()?.content),
        _ => None,
    }
}

/// The first byte of a string of bits counts those that are not used.
fn point<'a>(fields: &[Element<'a>]) -> Option<&'a [u8]> {
    let public = fields.iter().find(|one| one.tag == der::PUBLIC)?;
    let bits = der::elements(public.content)?;
    let bits = bits.first().filter(|one| one.tag == der::BITS)?;
    bits.content.get(1..)
}

/// A field of a kubeconfig. kubeadm writes each on a line of its own.
fn data(text: &str, field: &str) -> Option<Vec<u8>> {
    let mut lines = text.lines().map(str::trim);
    let value = lines.find_map(|line| line.strip_prefix(field))?;
    pem::decode(value.trim().trim_matches(['"', '\'']))
}

//! The first bytes of bootstrap data: which format they have.

use crate::refused::Refused;

/// A cloud-config.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Head<'a> {
    /// With variables of Jinja.
    Template(&'a str),
    /// As it is.
    Plain(&'a str),
}

/// The line that makes a cloud-config a template (cloud-init, `templater.py`).
const JINJA: &str = "## template: jinja";

const CLOUD_CONFIG: &str = "#cloud-config";

/// Formats that cloud-init knows and this host refuses, by their first bytes.
const OTHERS: [(&[u8], &str); 8] = [
    (&[0x1f, 0x8b], "gzip"),
    (b"{", "Ignition, or other JSON"),
    (b"Content-Type:", "a MIME archive"),
    (b"MIME-Version:", "a MIME archive"),
    (b"#!", "a script"),
    (b"#include", "an include of cloud-init"),
    (b"#cloud-config-archive", "an archive of cloud-init"),
    (b"#cloud-boothook", "a boothook of cloud-init"),
];

pub(crate) fn head(data: &[u8]) -> Result<Head<'_>, Refused> {
    let begin = data.trim_ascii_start();
    let other = OTHERS.iter().find(|(first, _)| begin.starts_with(first));
    if let Some((_, found)) = other {
        return Err(Refused::Format { found });
    }
    let found = "not text";
    let text = std::str::from_utf8(data).map_err(|_| Refused::Format { found })?;
    let mut lines = text
        .lines()
        .map(str::trim_end)
        .filter(|line| !line.is_empty());
    match (lines.next(), lines.next()) {
        (Some(JINJA), Some(CLOUD_CONFIG)) => Ok(Head::Template(text)),
        (Some(CLOUD_CONFIG), _) => Ok(Head::Plain(text)),
        _ => Err(Refused::Format { found: "not known" }),
    }
}

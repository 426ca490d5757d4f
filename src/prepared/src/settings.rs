//! /etc/careen/host.toml: how a prepared host reaches its management cluster for the first time.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::error::{At, Error, Result};
use crate::trusted::must_be_roots;

/// Where the file is.
pub const FILE: &str = "/etc/careen/host.toml";

/// The file. `kubectl careen host token` writes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Settings {
    /// The URL of the API server.
    pub server: String,
    /// Its authority, as PEM.
    pub certificate_authority: String,
    /// The namespace of the hosts.
    pub namespace: String,
    /// The HostRegistration.
    pub registration: String,
    /// The token of the registration, which lives for hours.
    pub token: String,
    /// The name of this host. Without it the host name counts.
    pub name: Option<String>,
    /// How bootstrap data are read.
    #[serde(default)]
    pub bootstrap: Bootstrap,
}

/// How bootstrap data are read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bootstrap {
    /// Top-level keys of a cloud-config to pass over.
    #[serde(default)]
    pub ignore: Vec<String>,
}

impl Settings {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read, others than root may write it, or it is not valid. The message repeats no value: one is a token.
    pub fn read(path: &Path) -> Result<Self> {
        must_be_roots(path)?;
        let text = fs::read_to_string(path).at("reading", path)?;
        let read: std::result::Result<Self, _> = toml::from_str(&text);
        let settings = read.map_err(|error| {
            let place = error.span().map_or(0, |span| span.start);
            let line = text.get(..place).unwrap_or_default().lines().count().max(1);
            let detail = format!(
                "line {line}: {}; use a file of `kubectl careen host token`",
                error.message()
            );
            Error::unusable(path, detail)
        })?;
        let is_secure = settings.server.starts_with("https://");
        match is_secure {
            true => Ok(settings),
            false => Err(Error::unusable(
                path,
                "server does not begin with https://; use its URL",
            )),
        }
    }
}

//! `host`: the prepared hosts of the infrastructure provider.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::nodes::node_name;
use crate::duration::Span;

/// How long a token of a registration lives, unless the person says otherwise.
const USUAL: &str = "1h";

/// The shortest token that API servers accept, and the longest that a host file may carry.
const TOKEN: [Duration; 2] = [
    Duration::from_secs(10 * 60),
    Duration::from_secs(24 * 60 * 60),
];

/// `host`.
#[derive(Args, Clone, Debug)]
pub struct Host {
    /// The namespace of the hosts, instead of the one of the context.
    #[arg(short, long, global = true, value_name = "NAME", value_parser = node_name)]
    pub namespace: Option<String>,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// What to do with hosts.
#[derive(Clone, Debug, Subcommand)]
pub enum Verb {
    /// Show the hosts, and what each waits for.
    List,
    /// Print /etc/careen/host.toml for new hosts, with a token of a registration.
    Token(Token),
    /// Let hosts in that have registered.
    Approve(Hosts),
    /// Keep hosts from being chosen; a Machine that has one keeps it.
    Cordon(Hosts),
    /// Let hosts be chosen again.
    Uncordon(Hosts),
    /// Give up a host that is switched off, so that its Machine can go, or let an orphan go.
    Release(Release),
}

/// `host token`.
#[derive(Args, Clone, Debug)]
pub struct Token {
    /// The HostRegistration.
    #[arg(long, value_name = "NAME", value_parser = node_name)]
    pub registration: String,
    /// How long the token lives, from 10m to 24h.
    #[arg(long, value_name = "TIME", default_value = USUAL, value_parser = lifetime)]
    pub ttl: Span,
    /// The URL at which hosts reach the API server, if it is not that of the kubeconfig.
    #[arg(long, value_name = "URL", value_parser = server)]
    pub server: Option<String>,
}

/// Hosts by name.
#[derive(Args, Clone, Debug)]
pub struct Hosts {
    /// Names of CareenHosts.
    #[arg(required = true, value_name = "HOST", value_parser = node_name)]
    pub names: Vec<String>,
}

/// `host release`.
#[derive(Args, Clone, Debug)]
pub struct Release {
    /// The name of the CareenHost.
    #[arg(value_name = "HOST", value_parser = node_name)]
    pub name: String,
    /// Skip the confirmation prompt.
    #[arg(short, long)]
    pub yes: bool,
}

fn lifetime(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    let [shortest, longest] = TOKEN;
    match (shortest..=longest).contains(&span.0) {
        true => Ok(span),
        false => Err("use a time from 10m to 24h".to_owned()),
    }
}

fn server(text: &str) -> Result<String, String> {
    match text.starts_with("https://") {
        true => Ok(text.to_owned()),
        false => Err("use a URL that begins with https://".to_owned()),
    }
}

//! Whether the request can be fetched as it is, before the remote receives it.

use ostree_ext::ostree::Repo;
use upgrade::target::ACCEPTED_IMAGE;
use upgrade::{Malformed, Reason, Target, names};

use super::signature;
use crate::args::Fetch;
use crate::site::Site;

/// Checks the names, the remote's configuration and the cap.
///
/// # Errors
/// What is wrong, and what would be right.
pub fn check(site: &Site, repo: &Repo, wanted: &Fetch) -> Result<(), Reason> {
    form(wanted)?;
    remote(repo, &wanted.remote, wanted.unsigned, &asked_for(wanted))?;
    cap(site, repo, wanted)
}

/// The names must have the form of the annotation that they come from. libostree accepts more. It
/// has no error code for names that it rejects, so a malformed name would look like an unreachable
/// remote.
fn form(wanted: &Fetch) -> Result<(), Reason> {
    let value = format!("ostree:{}:{}", wanted.remote, wanted.reference);
    match value.parse::<Target>() {
        Ok(target) if target.commit.is_none() => Ok(()),
        Ok(_) => Err(Malformed::new(names::IMAGE, &value, ACCEPTED_IMAGE).into()),
        Err(bad) => Err(bad.into()),
    }
}

/// Checks that the remote exists, and that it requires signatures by existing keys.
///
/// # Errors
/// [`Reason::UnknownRemote`], [`Reason::VerificationOff`], or an absent key.
pub fn remote(repo: &Repo, name: &str, unsigned: bool, asked_for: &str) -> Result<(), Reason> {
    let remote = name.to_owned();
    if !repo.remote_list().iter().any(|known| *known == remote) {
        return Err(Reason::UnknownRemote { remote });
    }
    let verified = repo.remote_get_gpg_verify(&remote).unwrap_or(false);
    if verified {
        signature::keys(repo, &remote, asked_for)
    } else if unsigned {
        Ok(())
    } else {
        Err(Reason::VerificationOff { remote })
    }
}

fn asked_for(wanted: &Fetch) -> String {
    let commit = wanted.commit.as_ref().map(ToString::to_string);
    commit.unwrap_or_else(|| wanted.reference.clone())
}

/// The relay for a cap takes the place of a proxy. A pull that bypasses it would be uncapped
/// without a report.
fn cap(site: &Site, repo: &Repo, wanted: &Fetch) -> Result<(), Reason> {
    let proxy = repo
        .remote_option(&wanted.remote, "proxy", None)
        .ok()
        .flatten();
    match (wanted.bandwidth, proxy) {
        // The message does not name the proxy: it may hold a password, and the Node shows this text
        // to every reader.
        (Some(rate), Some(_)) => Err(site.broken(format!(
            "remote {:?} has proxy= and --bandwidth is {rate}: bandwidth cannot be limited through a proxy; remove one of the two",
            wanted.remote
        ))),
        _ => Ok(()),
    }
}

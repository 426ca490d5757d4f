//! Whether what is asked for can be fetched as it is asked, before the remote hears of it.

use ostree_ext::ostree::Repo;
use upgrade::target::ACCEPTED_IMAGE;
use upgrade::{Reason, Target, names};

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

/// The names are held to the form of the annotation that they come from: libostree takes more, and for what it does not take
/// it has no error code, so that a malformed name would pass for a remote that is away.
fn form(wanted: &Fetch) -> Result<(), Reason> {
    let value = format!("ostree:{}:{}", wanted.remote, wanted.reference);
    match value.parse::<Target>() {
        Ok(target) if target.commit.is_none() => Ok(()),
        Ok(_) | Err(_) => Err(Reason::BadRequest {
            field: names::IMAGE.to_owned(),
            value,
            accepted: ACCEPTED_IMAGE.to_owned(),
        }),
    }
}

/// Checks that there is such a remote, and that it demands signatures by keys that are there.
///
/// # Errors
/// [`Reason::UnknownRemote`], [`Reason::VerificationOff`], or a key that is not there.
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

/// A cap works by a relay that takes the place of a proxy; a pull around it would be uncapped and nobody told.
fn cap(site: &Site, repo: &Repo, wanted: &Fetch) -> Result<(), Reason> {
    let proxy = repo
        .remote_option(&wanted.remote, "proxy", None)
        .ok()
        .flatten();
    match (wanted.bandwidth, proxy) {
        // The proxy itself is not named: it may hold a password, and this text stands on the Node for all to read.
        (Some(rate), Some(_)) => Err(site.broken(format!(
            "remote {:?} has proxy= and --bandwidth is {rate}: bandwidth cannot be limited through a proxy; remove one of the two",
            wanted.remote
        ))),
        _ => Ok(()),
    }
}

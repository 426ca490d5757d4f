//! What vouches for an image. An image without that is refused before the registry receives the
//! request.

use host::container_policy::Policy;
use ostree_ext::ostree::Repo;
use upgrade::Reason;
use upgrade::container::Transport;

use super::skopeo::Skopeo;
use crate::args::FetchImage;
use crate::fetch::signature;
use crate::site::Site;

/// Who vouches.
#[derive(Debug, PartialEq, Eq)]
pub enum Cover {
    /// The keyring of this OSTree remote, for the commit inside.
    Keyring(String),
    /// A signature that containers-policy.json requires for this image, and skopeo verifies.
    Container,
    /// Nothing, and the node's policy allows that.
    Nobody,
}

/// Determines it.
///
/// # Errors
/// [`Reason::Unsigned`] if nothing vouches for it; [`Reason::UnknownRemote`],
/// [`Reason::VerificationOff`] and an absent key as for the remote itself.
pub fn of(site: &Site, repo: &Repo, wanted: &FetchImage, skopeo: &Skopeo) -> Result<Cover, Reason> {
    if let Some(remote) = &wanted.signed_by {
        return keyring(repo, remote, wanted);
    }
    if wanted.unsigned {
        return Ok(Cover::Nobody);
    }
    if !demanded(site, wanted, skopeo)? {
        return Err(Reason::Unsigned {
            remote: wanted.image.address(),
            commit: wanted.image.manifest.to_string(),
        });
    }
    Ok(Cover::Container)
}

fn keyring(repo: &Repo, remote: &str, wanted: &FetchImage) -> Result<Cover, Reason> {
    let remote = remote.to_owned();
    if !repo.remote_list().iter().any(|known| *known == remote) {
        return Err(Reason::UnknownRemote { remote });
    }
    if repo.remote_get_gpg_verify(&remote).unwrap_or(false) {
        signature::keys(repo, &remote, wanted.image.manifest.as_str())?;
        Ok(Cover::Keyring(remote))
    } else if wanted.unsigned {
        Ok(Cover::Nobody)
    } else {
        Err(Reason::VerificationOff { remote })
    }
}

/// An archive carries no signature that a container policy could require, so its commit must.
fn demanded(site: &Site, wanted: &FetchImage, skopeo: &Skopeo) -> Result<bool, Reason> {
    if wanted.image.transport != Transport::Registry {
        return Ok(false);
    }
    let policy = skopeo.policy.as_deref().map(Policy::read).transpose();
    let policy = policy.map_err(|error| site.broken(error))?;
    Ok(policy.is_some_and(|policy| policy.demands_signature(&wanted.image)))
}

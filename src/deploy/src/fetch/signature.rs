//! The commit's signature, verified with the remote's keyring, also for a commit that is already
//! here.

use std::path::Path;

use ostree_ext::gio;
use ostree_ext::glib;
use ostree_ext::ostree::{self, Repo};
use upgrade::Reason;
use upgrade::id::Digest;

/// libostree's OstreeGpgError (ostree-gpg-verify-result.h), which the bindings do not carry as a
/// type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// No signature at all.
    None,
    /// No signature is good: each is invalid, by an unknown key, expired or revoked.
    NotValid,
}

impl glib::error::ErrorDomain for SignatureError {
    fn domain() -> glib::Quark {
        ostree::gpg_error_quark()
    }

    fn code(self) -> i32 {
        match self {
            Self::None => 0,
            Self::NotValid => 1,
        }
    }

    fn from(code: i32) -> Option<Self> {
        Some(if code == 0 {
            Self::None
        } else {
            Self::NotValid
        })
    }
}

/// The reason, if the error is about a signature.
pub fn reason(remote: &str, commit: &str, error: &glib::Error) -> Option<Reason> {
    let (remote, commit) = (remote.to_owned(), commit.to_owned());
    error.kind::<SignatureError>().map(|kind| match kind {
        SignatureError::None => Reason::Unsigned { remote, commit },
        SignatureError::NotValid => Reason::WrongSignature {
            remote,
            commit,
            detail: error.message().to_owned(),
        },
    })
}

/// The reason for an error during the verification of a signature. A commit that cannot be verified
/// counts as unsigned.
pub fn refusal(remote: &str, commit: &str, error: &glib::Error) -> Reason {
    reason(remote, commit, error).unwrap_or_else(|| Reason::WrongSignature {
        remote: remote.to_owned(),
        commit: commit.to_owned(),
        detail: error.message().to_owned(),
    })
}

/// Checks that the keys that verify a remote's commits exist. For an absent key, libostree returns
/// the same code as for an absent commit.
///
/// # Errors
/// [`Reason::WrongSignature`] for the request.
pub fn keys(repo: &Repo, remote: &str, commit: &str) -> Result<(), Reason> {
    let paths = repo.remote_option(remote, "gpgkeypath", None);
    let paths = paths.ok().flatten().unwrap_or_default();
    // Either character separates them (ostree-repo.c, `_ostree_repo_gpg_prepare_verifier`).
    let mut paths = paths.split([';', ',']).filter(|path| !path.is_empty());
    let gone = |path: &&str| matches!(Path::new(path).try_exists(), Ok(false));
    paths.find(gone).map_or(Ok(()), |path| {
        Err(Reason::WrongSignature {
            remote: remote.to_owned(),
            commit: commit.to_owned(),
            detail: format!("its gpgkeypath= names {path:?}, which does not exist"),
        })
    })
}

/// Verifies the signature of a commit in the repository, if the remote requires one.
pub fn check(repo: &Repo, remote: &str, commit: &Digest) -> Result<(), Reason> {
    if !repo.remote_get_gpg_verify(remote).unwrap_or(true) {
        return Ok(());
    }
    let never = None::<&gio::Cancellable>;
    let verdict = repo
        .verify_commit_for_remote(commit.as_str(), remote, never)
        .and_then(|result| result.require_valid_signature());
    verdict.map_err(|error| refusal(remote, commit.as_str(), &error))
}

//! The commit's signature, judged by the remote's keyring, also for a commit that lies here already.

use std::path::Path;

use ostree_ext::gio;
use ostree_ext::glib;
use ostree_ext::ostree::{self, Repo};
use upgrade::Reason;
use upgrade::id::Digest;

/// libostree's OstreeGpgError (ostree-gpg-verify-result.h), which the bindings do not carry as a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// No signature at all.
    None,
    /// There are signatures and none is good: invalid, by an unknown key, expired, revoked.
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

/// The reason when the error is about a signature.
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

/// The reason for an error while a signature was judged: what cannot be judged is not signed.
pub fn refusal(remote: &str, commit: &str, error: &glib::Error) -> Reason {
    reason(remote, commit, error).unwrap_or_else(|| Reason::WrongSignature {
        remote: remote.to_owned(),
        commit: commit.to_owned(),
        detail: error.message().to_owned(),
    })
}

/// Checks that the keys are there by which a remote's commits are judged. For one that is not libostree has the code that it has for a commit that is
/// not there.
///
/// # Errors
/// [`Reason::WrongSignature`] of what is asked for.
pub fn keys(repo: &Repo, remote: &str, commit: &str) -> Result<(), Reason> {
    let paths = repo.remote_option(remote, "gpgkeypath", None);
    let paths = paths.ok().flatten().unwrap_or_default();
    // The one or the other stands between them (ostree-repo.c, `_ostree_repo_gpg_prepare_verifier`).
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

/// Checks the signature of a commit in the repository, when the remote demands one.
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

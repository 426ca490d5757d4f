//! The branches that a remote lists in its summary. The bindings do not include this call.

use std::collections::HashMap;
use std::ptr;

use ostree_ext::gio;
use ostree_ext::glib;
use ostree_ext::glib::translate::{FromGlibPtrContainer, ToGlibPtr, from_glib_full};
use ostree_ext::ostree::{Repo, ffi};

/// Branch names with their commits.
///
/// # Errors
/// The remote does not answer or has no summary.
#[expect(
    unsafe_code,
    reason = "ostree 0.19 binds no ostree_repo_remote_list_refs; this is its list_refs, word for word"
)]
pub fn of(repo: &Repo, remote: &str) -> Result<HashMap<String, String>, glib::Error> {
    let (mut table, mut error) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: the arguments live through the call; libostree sets one of both out values and passes
    // its ownership.
    unsafe {
        ffi::ostree_repo_remote_list_refs(
            repo.to_glib_none().0,
            remote.to_glib_none().0,
            &raw mut table,
            None::<&gio::Cancellable>.to_glib_none().0,
            &raw mut error,
        );
        if error.is_null() {
            Ok(FromGlibPtrContainer::from_glib_container(table))
        } else {
            Err(from_glib_full(error))
        }
    }
}

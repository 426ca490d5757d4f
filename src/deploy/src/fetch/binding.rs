//! The branches that a commit says it belongs to. Its signature covers them, whichever server
//! delivers it.

use ostree_ext::glib;
use upgrade::target::is_reference;

/// Where libostree writes them (ostree-repo-commit.c, `OSTREE_COMMIT_META_KEY_REF_BINDING` in
/// ostree-core.h).
const KEY: &str = "ostree.ref-binding";
/// The maximum that the agent receives. More would only fill its record.
const MOST: usize = 32;

/// All of them, or `None` if the commit names none.
pub fn of(commit: &glib::Variant) -> Option<Vec<String>> {
    let metadata = glib::VariantDict::new(Some(&commit.child_value(0)));
    metadata.lookup::<Vec<String>>(KEY).ok().flatten()
}

/// The branches that a request could name, up to the maximum for the agent.
pub fn told(commit: &glib::Variant) -> Box<[String]> {
    let all = of(commit).unwrap_or_default().into_iter();
    all.filter(|name| is_reference(name)).take(MOST).collect()
}

//! The branches that a commit says it is of: its signature covers them, whoever serves it.

use ostree_ext::glib;
use upgrade::target::is_reference;

/// Where libostree writes them (ostree-repo-commit.c, `OSTREE_COMMIT_META_KEY_REF_BINDING` in ostree-core.h).
const KEY: &str = "ostree.ref-binding";
/// As many as the agent is told; more would only fill its record.
const MOST: usize = 32;

/// All of them; nothing where the commit says none.
pub fn of(commit: &glib::Variant) -> Option<Vec<String>> {
    let metadata = glib::VariantDict::new(Some(&commit.child_value(0)));
    metadata.lookup::<Vec<String>>(KEY).ok().flatten()
}

/// Those that a request could name, as far as the agent is told.
pub fn told(commit: &glib::Variant) -> Box<[String]> {
    let all = of(commit).unwrap_or_default().into_iter();
    all.filter(|name| is_reference(name)).take(MOST).collect()
}

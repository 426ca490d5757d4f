//! Caps on bandwidth that could not be kept.

use super::{fetch, refused, refused_with};
use crate::keys::keys;
use crate::world::{BRANCH, REMOTE, world};

#[test]
fn a_cap_that_the_remotes_own_proxy_would_get_around_is_refused() {
    let world = world();
    let proxy = "--set=proxy=http://somebody:secret@127.0.0.1:1";
    let ring = format!("--gpg-import={}", keys().ring.display());
    world.add_remote("far", &[proxy, &ring]);
    let capped = [&fetch("far", BRANCH)[..], &["--bandwidth", "100000"]].concat();
    let words = ["remote", "far", "proxy", "--bandwidth", "100000"];
    let reason = refused(&world, &capped, &words);
    assert!(!reason.to_string().contains("secret"), "{reason}");
}

#[test]
fn bandwidth_cap_is_refused_when_the_environment_sets_a_proxy() {
    let world = world();
    let capped = [&fetch(REMOTE, BRANCH)[..], &["--bandwidth", "100000"]].concat();
    for name in ["http_proxy", "https_proxy", "ALL_PROXY"] {
        let proxy = [(name, "http://somebody:secret@127.0.0.1:1")];
        let reason = refused_with(&world, &capped, &proxy, &[name, "--bandwidth", "100000"]);
        assert!(!reason.to_string().contains("secret"), "{reason}");
    }
}

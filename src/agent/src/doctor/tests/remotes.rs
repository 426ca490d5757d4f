//! OSTree remotes and their keys.

use std::fs;

use super::super::Verdict;
use super::node::{Node, write};

#[test]
fn no_remote_is_bad() {
    let node = Node::sound();
    fs::remove_file(node.root().join("etc/ostree/remotes.d/site.conf")).unwrap();
    node.is_bad("remote", "no OSTree remote");
}

#[test]
fn a_remote_that_the_policy_names_and_nobody_configured_is_bad() {
    let node = Node::sound();
    node.policy("remotes = [\"elsewhere\"]\n");
    node.is_bad("remote", "elsewhere");
}

#[test]
fn remote_without_verification_is_bad_unless_policy_allows_it() {
    let node = Node::sound();
    node.remote("url=https://x\ngpg-verify=false\n");
    node.is_bad("remote", "gpg-verify=false");
    node.policy("unsigned = true\n");
    assert_eq!(node.found("remote").verdict, Verdict::Warn);
}

#[test]
fn a_remote_without_a_key_or_a_url_is_bad() {
    let node = Node::sound();
    fs::remove_file(
        node.disk
            .places
            .sysroot
            .join("ostree/repo/site.trustedkeys.gpg"),
    )
    .unwrap();
    node.is_bad("remote", "no key");
    node.remote("gpg-verify=true\n");
    node.is_bad("remote", "no url");
}

#[test]
fn a_key_that_the_remote_or_the_system_brings_is_one() {
    let node = Node::sound();
    fs::remove_file(
        node.disk
            .places
            .sysroot
            .join("ostree/repo/site.trustedkeys.gpg"),
    )
    .unwrap();
    write(&node.root().join("etc/pki/site.gpg"), "a key");
    node.remote("url=https://x\ngpgkeypath=/etc/pki/site.gpg\n");
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
    node.remote("url=https://x\n");
    write(
        &node.root().join("usr/share/ostree/trusted.gpg.d/all.asc"),
        "a key",
    );
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
    let seen = node.found("remote").found;
    assert!(seen.contains("trusted.gpg.d/all.asc"), "{seen}");
}

#[test]
fn keys_of_all_remotes_are_named_where_they_count() {
    let node = Node::sound();
    let common = "/usr/share/ostree/trusted.gpg.d/vendor.gpg";
    write(&node.root().join(&common[1..]), "a key");
    let own = node.found("remote");
    assert!(!own.found.contains(common), "a keyring of its own: {own:?}");
    let ring = "ostree/repo/site.trustedkeys.gpg";
    fs::remove_file(node.disk.places.sysroot.join(ring)).unwrap();
    write(&node.root().join("etc/pki/site.gpg"), "a key");
    node.remote("url=https://x\ngpgkeypath=/etc/pki/site.gpg\n");
    let both = node.found("remote");
    assert_eq!(both.verdict, Verdict::Warn);
    assert!(both.found.contains(common), "{both:?}");
}

#[test]
fn missing_gpgkeypath_entry_is_bad_even_beside_an_existing_one() {
    let node = Node::sound();
    write(&node.root().join("etc/pki/site.gpg"), "a key");
    node.remote("url=https://x\ngpgkeypath=/etc/pki/site.gpg;/etc/pki/next.gpg\n");
    node.is_bad("remote", "/etc/pki/next.gpg");
    write(&node.root().join("etc/pki/next.gpg"), "a key");
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
}

#[test]
fn a_password_in_a_url_is_not_repeated() {
    let node = Node::sound();
    node.remote("url=https://site:secret@images.example.com/os\n");
    let seen = node.found("remote").found;
    assert!(seen.contains("https://…@images.example.com/os"), "{seen}");
    assert!(!seen.contains("secret"), "{seen}");
}

#[test]
fn a_proxy_under_a_cap_is_bad() {
    let node = Node::sound();
    node.remote("url=https://x\nproxy=http://proxy\n");
    assert_eq!(node.found("remote").verdict, Verdict::Ok);
    node.policy("[limits]\nbandwidth-bytes = 100000\n");
    node.is_bad("remote", "proxy");
}

//! Container images: the program that fetches them, who vouches for them, and nodes that have no
//! OSTree remote at all.

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};

use upgrade::container::SKOPEO;

use super::super::{Finding, Verdict, examine};
use super::node::{Node, write};

const ALLOWED: &str = "[registry]\nallowed = [\"registry.example.com\"]\n";

/// As distributions ship it.
const ANYTHING: &str = r#"{"default":[{"type":"insecureAcceptAnything"}]}"#;
const SIGNED_HERE: &str = r#"{"default":[{"type":"insecureAcceptAnything"}],
    "transports":{"docker":{"registry.example.com":[{"type":"sigstoreSigned"}]}}}"#;

fn with_skopeo() -> Node {
    let node = Node::sound();
    write(&node.root().join("usr/bin/skopeo"), "a program");
    node
}

impl Node {
    fn container_policy(&self, text: &str) {
        write(&self.root().join("etc/containers/policy.json"), text);
    }

    fn without_remotes(self) -> Self {
        fs::remove_file(self.root().join("etc/ostree/remotes.d/site.conf")).unwrap();
        self
    }

    fn verdict(&self, name: &str) -> Verdict {
        self.found(name).verdict
    }
}

#[test]
fn a_node_whose_policy_does_not_speak_of_them_is_not_asked() {
    let found = examine(&Node::sound().patient());
    assert!(found.iter().all(|finding| finding.name != "registry"));
}

#[test]
fn without_the_program_that_fetches_them_it_is_bad() {
    let node = Node::sound();
    for policy in [ALLOWED, "[registry]\nsigned-by = \"site\"\n"] {
        node.policy(policy);
        node.is_bad("registry", "skopeo");
    }
}

#[test]
fn without_user_namespaces_it_is_bad() {
    let node = with_skopeo();
    node.policy(&format!("{ALLOWED}signed-by = \"site\"\n"));
    let most = node.kernel.path().join("proc/sys/user/max_user_namespaces");
    write(&most, "0\n");
    node.is_bad("registry", "max_user_namespaces is 0");
    write(&most, "96365\n");
    assert_eq!(node.verdict("registry"), Verdict::Ok);
}

#[test]
fn a_key_is_readable_for_skopeo_and_not_for_everybody() {
    let node = with_skopeo();
    node.policy(&format!("{ALLOWED}signed-by = \"site\"\n"));
    let key = "etc/containers/certs.d/registry.example.com/client.key";
    let key = node.root().join(key);
    write(&key, "a key");
    for (group, mode, verdict) in [
        (0, 0o600, Verdict::Warn),
        (0, 0o640, Verdict::Warn),
        (SKOPEO, 0o640, Verdict::Ok),
        (65_534, 0o640, Verdict::Ok),
        (SKOPEO, 0o644, Verdict::Warn),
        (SKOPEO, 0o600, Verdict::Warn),
    ] {
        chown(&key, None, Some(group)).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(mode)).unwrap();
        assert_eq!(node.verdict("registry"), verdict, "{group} {mode:o}");
    }
}

#[test]
fn where_the_container_policy_vouches_it_says_who_checks_that() {
    let node = with_skopeo();
    node.container_policy(SIGNED_HERE);
    node.policy(ALLOWED);
    let found = node.found("registry");
    assert!(found.found.contains("only skopeo checks"), "{found:?}");
}

#[test]
fn somebody_must_vouch_for_them() {
    let node = with_skopeo();
    node.policy(ALLOWED);
    node.is_bad("registry", "nothing vouches");
    node.policy(&format!("unsigned = true\n{ALLOWED}"));
    assert_eq!(node.verdict("registry"), Verdict::Warn);
    node.policy(&format!("{ALLOWED}signed-by = \"site\"\n"));
    assert_eq!(node.verdict("registry"), Verdict::Ok);
}

#[test]
fn a_policy_that_names_no_place_for_them_is_warned_of() {
    let node = with_skopeo();
    for more in ["", "unsigned = true\n"] {
        node.policy(&format!("{more}[registry]\nsigned-by = \"site\"\n"));
        let found = node.found("registry");
        assert_eq!(found.verdict, Verdict::Warn, "{found:?}");
        assert!(found.found.contains("registry.allowed"), "{found:?}");
    }
}

#[test]
fn container_policy_must_demand_signatures_to_be_ok() {
    let node = with_skopeo();
    node.policy(ALLOWED);
    node.container_policy(ANYTHING);
    node.is_bad("registry", "nothing vouches");
    node.container_policy(SIGNED_HERE);
    assert_eq!(node.verdict("registry"), Verdict::Ok);
}

#[test]
fn each_place_that_is_allowed_wants_a_demand_of_its_own() {
    let node = with_skopeo();
    node.container_policy(SIGNED_HERE);
    node.policy("[registry]\nallowed = [\"registry.example.com/os\", \"other.example.com\"]\n");
    node.is_bad("registry", "from other.example.com");
}

#[test]
fn unreadable_container_policy_is_bad_even_with_signed_by() {
    let node = with_skopeo();
    node.policy("[registry]\nsigned-by = \"site\"\n");
    node.container_policy("{");
    node.is_bad("registry", "etc/containers/policy.json");
}

#[test]
fn archives_need_signed_by_even_with_a_container_policy() {
    let node = with_skopeo();
    node.container_policy(SIGNED_HERE);
    let archives = format!("{ALLOWED}archives = [\"/srv/images\"]\n");
    node.policy(&archives);
    node.is_bad("registry", "archives");
    node.policy(&format!("{archives}signed-by = \"site\"\n"));
    assert_eq!(node.verdict("registry"), Verdict::Ok);
    node.policy(&format!("unsigned = true\n{archives}"));
    assert_eq!(node.verdict("registry"), Verdict::Warn);
}

#[test]
fn signed_by_remote_is_judged_even_when_remotes_exclude_it() {
    let node = with_skopeo();
    node.policy("[registry]\nsigned-by = \"elsewhere\"\n");
    let all = examine(&node.patient());
    let bad = |finding: &Finding| {
        finding.name == "remote"
            && finding.verdict == Verdict::Bad
            && finding.found.contains("registry.signed-by names elsewhere")
    };
    assert!(all.iter().any(bad), "{all:?}");

    let other = "[remote \"images\"]\nurl=https://x\ngpg-verify=false\n";
    write(&node.root().join("etc/ostree/remotes.d/images.conf"), other);
    node.policy("remotes = [\"site\"]\n[registry]\nsigned-by = \"images\"\n");
    let all = examine(&node.patient());
    let bad = |finding: &Finding| {
        finding.verdict == Verdict::Bad && finding.found.contains("images has gpg-verify=false")
    };
    assert!(all.iter().any(bad), "{all:?}");
}

#[test]
fn a_node_with_registries_alone_needs_no_remote() {
    let node = with_skopeo().without_remotes();
    node.policy(ALLOWED);
    assert_eq!(node.verdict("remote"), Verdict::Ok);
    node.policy("[registry]\nsigned-by = \"site\"\n");
    node.is_bad("remote", "registry.signed-by names site");
}

#[test]
fn container_policy_does_not_replace_a_remote_or_a_registry() {
    let node = with_skopeo().without_remotes();
    node.is_bad("remote", "no OSTree remote");
    node.container_policy(SIGNED_HERE);
    node.is_bad("remote", "no registry");
}

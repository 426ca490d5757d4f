//! Images whose container is signed, as containers-policy.json may demand it (`signedBy`,
//! `sigstoreSigned`): the commit inside then need not be.
//!
//! Those of `signedBy` are made by gpg alone, in the form that skopeo writes
//! (containers-signature(5)), and lie in a folder where a registry without a place for them has
//! them: the node's `registries.d` says which (containers-registries.d(5)). Sigstore's lie in the
//! registry.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::{Value, json};
use upgrade::Reason;
use upgrade::id::Digest;

use crate::image::Image;
use crate::keys::{gpg, keys};
use crate::run::succeed;

use super::{Shop, shop, tools};

/// The name of every image here, behind its registry.
const NAME: &str = "team/os";

impl Shop {
    fn registry(&self) -> String {
        format!("127.0.0.1:{}", self.server.port)
    }

    /// Of this registry's images the container policy demands this, and the signatures are where
    /// the line says.
    fn demands(&self, requirement: &Value, place: &str) {
        let registry = self.registry();
        let policy = json!({ "default": [{ "type": "reject" }], "transports": { "docker": { &registry: [requirement] } } });
        self.policy(&policy.to_string());
        let text = format!("docker:\n  {registry}:\n    {place}\n");
        fs::write(self.settings("etc/containers/registries.d/site.yaml"), text).unwrap();
    }

    /// It demands a signature by the key that the node trusts.
    pub(super) fn demands_a_signature(&self) {
        let ring = self.settings("etc/containers/site.gpg");
        // The keyring of the tests lies where nobody else may look.
        fs::copy(&keys().ring, &ring).unwrap();
        let place = format!(
            "lookaside: file://{}",
            self.world.path("signatures").display()
        );
        self.demands(
            &json!({ "type": "signedBy", "keyType": "GPGKeys", "keyPath": ring }),
            &place,
        );
    }

    /// It demands one of sigstore's, by a key that is made here.
    fn demands_a_signature_of_sigstores(&self) {
        fs::write(self.world.path("passphrase"), "secret\n").unwrap();
        let mut make = Command::new(tools().join("skopeo"));
        make.args(["generate-sigstore-key", "--output-prefix"]);
        make.arg(self.world.path("sigstore"));
        make.arg("--passphrase-file")
            .arg(self.world.path("passphrase"));
        succeed(&mut make);
        let key = self.world.path("sigstore.pub");
        self.demands(
            &json!({ "type": "sigstoreSigned", "keyPath": key }),
            "use-sigstore-attachments: true",
        );
    }

    /// Signs an image with that key, in its place.
    fn vouch_by_sigstore(&self, image: &str) {
        let mut sign = Command::new(tools().join("skopeo"));
        sign.arg("--insecure-policy").arg("--registries-conf");
        sign.arg(self.settings("etc/containers/registries.conf"));
        sign.arg("--registries.d");
        sign.arg(self.settings("etc/containers/registries.d"));
        sign.args(["copy", "--quiet", "--preserve-digests"]);
        sign.arg("--sign-by-sigstore-private-key")
            .arg(self.world.path("sigstore.private"));
        sign.arg("--sign-passphrase-file")
            .arg(self.world.path("passphrase"));
        sign.arg(image)
            .arg(format!("docker://{}/{NAME}:latest", self.registry()));
        succeed(&mut sign);
    }

    /// Signs what the image's digest names, as an image of this name, and gives the signature's
    /// file.
    pub(super) fn vouch(&self, image: &str, key: &str, as_name: &str) -> PathBuf {
        let (_, digest) = image.split_once('@').unwrap();
        let reference = format!("{}/{as_name}:latest", self.registry());
        self.vouch_for(image, key, &reference, digest)
    }

    fn vouch_for(&self, image: &str, key: &str, reference: &str, digest: &str) -> PathBuf {
        let (_, offered) = image.split_once('@').unwrap();
        let folder = format!("signatures/{NAME}@{}", offered.replace(':', "="));
        let folder = self.world.path(&folder);
        fs::create_dir_all(&folder).unwrap();
        let said = json!({ "critical": { "type": "atomic container signature",
            "image": { "docker-manifest-digest": digest }, "identity": { "docker-reference": reference } }, "optional": {} });
        let (plain, signature) = (self.world.path("said"), folder.join("signature-1"));
        fs::write(&plain, said.to_string()).unwrap();
        let mut sign = gpg(&keys().home);
        sign.args(["--local-user", key, "--output"]).arg(&signature);
        succeed(sign.arg("--sign").arg(plain));
        signature
    }

    /// Refused for its signature, and before any layer was brought.
    fn is_refused(&self, image: &str) {
        let answer = self.fetch_with(image, &[]);
        let mut said = answer.progress.iter().map(|one| one.doing.as_str());
        assert!(!said.any(|doing| doing.starts_with("fetching layer")));
        let reason = answer.reason();
        assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    }
}

#[test]
fn image_signed_as_the_container_policy_demands_is_accepted() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    shop.is_refused(&image);
    shop.vouch(&image, &keys().trusted, NAME);
    let (fetched, bytes) = shop.fetch_with(&image, &[]).fetched();
    assert_eq!(fetched, commit);
    assert!(bytes > 0);
    shop.world.verb("verify", &commit).verified();
    shop.world.verb("deploy", &commit).deployed();
}

#[test]
fn a_plan_of_such_an_image_goes_by_the_same_signature() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    let refused = shop.plan_by_the_container_policy(&image);
    assert_eq!(refused.unwrap_err().code(), "WrongSignature");
    shop.vouch(&image, &keys().trusted, NAME);
    let found = shop.plan_by_the_container_policy(&image).unwrap();
    assert_eq!(found.facts.commit, commit);
}

#[test]
fn a_signature_of_a_stranger_vouches_for_nothing() {
    let shop = shop();
    let (image, _) = shop.offer_signed(&Image::new(2));
    shop.demands_a_signature();
    shop.vouch(&image, &keys().stranger, NAME);
    shop.is_refused(&image);
}

#[test]
fn signature_of_another_image_or_name_is_refused() {
    let shop = shop();
    let (image, _) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    let other = format!("sha256:{}", "b".repeat(64));
    let reference = format!("{}/{NAME}:latest", shop.registry());
    shop.vouch_for(&image, &keys().trusted, &reference, &other);
    shop.is_refused(&image);
    shop.vouch(&image, &keys().trusted, "team/other");
    shop.is_refused(&image);
}

#[test]
fn a_signature_that_was_changed_vouches_for_nothing() {
    let shop = shop();
    let (image, _) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    let signature = shop.vouch(&image, &keys().trusted, NAME);
    let mut bytes = fs::read(&signature).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] = !bytes[middle];
    fs::write(signature, bytes).unwrap();
    shop.is_refused(&image);
}

#[test]
fn fetched_image_is_refused_once_its_signature_is_removed() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    let signature = shop.vouch(&image, &keys().trusted, NAME);
    shop.fetch_with(&image, &[]).fetched();
    fs::remove_file(signature).unwrap();
    shop.is_refused(&image);
    shop.vouch(&image, &keys().trusted, NAME);
    assert_eq!(shop.fetch_with(&image, &[]).fetched(), (commit, 0));
}

/// A fetched image, and the arguments of its deployment.
fn fetched(shop: &Shop) -> (String, Digest) {
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature();
    shop.vouch(&image, &keys().trusted, NAME);
    shop.fetch_with(&image, &[]).fetched();
    shop.world.verb("verify", &commit).verified();
    (image, commit)
}

#[test]
fn key_that_is_replaced_since_the_fetch_refuses_the_deployment() {
    let shop = shop();
    let (image, commit) = fetched(&shop);
    let ring = shop.settings("etc/containers/site.gpg");
    let mut export = gpg(&keys().home);
    export.arg("--yes").arg("--output").arg(&ring);
    succeed(export.args(["--export", &keys().stranger]));
    let deploy = || shop.deploy(&image, &["--commit", commit.as_str()]);
    let reason = deploy().reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    fs::remove_file(&ring).unwrap();
    let reason = deploy().reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    fs::copy(&keys().ring, &ring).unwrap();
    deploy().deployed();
}

#[test]
fn policy_that_is_replaced_since_the_fetch_is_asked_again() {
    let shop = shop();
    let (image, commit) = fetched(&shop);
    let deploy = || shop.deploy(&image, &["--commit", commit.as_str()]);
    shop.policy(r#"{"default":[{"type":"reject"}]}"#);
    let reason = deploy().reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    shop.demands_a_signature();
    // A verdict by the same policy counts without the registry.
    shop.runs("exit 1");
    deploy().deployed();
}

#[test]
fn sigstore_signature_satisfies_a_policy_that_demands_one() {
    let shop = shop();
    let (image, commit) = shop.offer(&Image::new(2), None);
    shop.demands_a_signature_of_sigstores();
    shop.is_refused(&image);
    shop.vouch_by_sigstore(&image);
    assert_eq!(shop.fetch_with(&image, &[]).fetched().0, commit);
}

#[test]
fn with_a_keyring_too_both_signatures_are_demanded() {
    let shop = shop();
    let (image, commit) = shop.offer_signed(&Image::new(2));
    shop.demands_a_signature();
    let reason = shop.fetch(&image).reason();
    assert!(matches!(reason, Reason::WrongSignature { .. }), "{reason}");
    shop.vouch(&image, &keys().trusted, NAME);
    assert_eq!(shop.fetch(&image).fetched().0, commit);
    let (unsigned, _) = shop.offer(&Image::new(3), None);
    shop.vouch(&unsigned, &keys().trusted, NAME);
    let reason = shop.fetch(&unsigned).reason();
    assert!(matches!(reason, Reason::Unsigned { .. }), "{reason}");
}

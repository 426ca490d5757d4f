//! What containers-policy.json(5) requires of an image. skopeo enforces it. Careen only reads it,
//! to distinguish a policy that requires a signature from one that accepts everything, such as the
//! policy that distributions ship.

use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use serde_json::Value;
use upgrade::ContainerImage;

/// The file.
#[derive(Debug, Deserialize)]
pub struct Policy {
    default: Vec<Requirement>,
    /// The requirements by transport, then by scope.
    #[serde(default)]
    transports: HashMap<String, HashMap<String, Vec<Requirement>>>,
}

#[derive(Debug, Deserialize)]
struct Requirement {
    #[serde(rename = "type")]
    kind: String,
}

/// Requirements that no unsigned image meets. An image must meet all requirements of a list, so one
/// of these is enough.
const DEMANDING: &[&str] = &["signedBy", "sigstoreSigned", "reject"];
/// Those requirements that a signed image may meet.
const BY_SIGNATURE: &[&str] = &["signedBy", "sigstoreSigned"];
/// The requirement that no image meets.
const REJECT: &str = "reject";
/// The file's name for the transport of registries.
const REGISTRIES: &str = "docker";

impl Policy {
    /// Reads the file.
    ///
    /// # Errors
    /// It cannot be read or is not a policy; the error names the file.
    pub fn read(path: &Path) -> io::Result<Self> {
        let named = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| named(error.to_string()))
    }

    /// Whether it accepts an image from a registry only with a signature.
    #[must_use]
    pub fn demands_signature(&self, image: &ContainerImage) -> bool {
        let requirements = self.requirements(image);
        requirements
            .iter()
            .any(|one| DEMANDING.contains(&one.kind.as_str()))
    }

    /// Whether images at a place, or some below it, are accepted because of their signatures. A
    /// place is a registry, or the start of a name in one; an empty place means every registry.
    #[must_use]
    pub fn goes_by_signatures(&self, place: &str) -> bool {
        let known = self.transports.get(REGISTRIES);
        let below = known.into_iter().flatten();
        let below = below.filter(|(scope, _)| is_below(scope, place));
        let mut lists = below.map(|(_, list)| list.as_slice());
        by_signature(self.in_force(scopes_around(place))) || lists.any(by_signature)
    }

    fn requirements(&self, image: &ContainerImage) -> &[Requirement] {
        let mut scopes = vec![format!("{}@{}", image.place, image.manifest)];
        scopes.extend(scopes_around(&image.place));
        self.in_force(scopes)
    }

    /// Only the narrowest scope counts (containers/image, signature/policy_eval.go,
    /// `requirementsForImageRef`).
    fn in_force(&self, scopes: Vec<String>) -> &[Requirement] {
        let known = self.transports.get(REGISTRIES);
        let named = known.and_then(|known| scopes.into_iter().find_map(|scope| known.get(&scope)));
        named.unwrap_or(&self.default)
    }
}

/// Each file that a policy names: keys and certificates of every kind of requirement
/// (containers-policy.json(5): `keyPath`, `keyPaths`, `caPath` and similar keys). A policy that is
/// not JSON names none, and accepts no image.
#[must_use]
pub fn files(policy: &[u8]) -> Vec<String> {
    let mut named = Vec::new();
    if let Ok(policy) = serde_json::from_slice(policy) {
        collect(&policy, false, &mut named);
    }
    named
}

fn collect(value: &Value, is_path: bool, named: &mut Vec<String>) {
    match value {
        Value::String(path) if is_path => named.push(path.clone()),
        Value::Array(values) => values.iter().for_each(|one| collect(one, is_path, named)),
        Value::Object(keys) => {
            for (key, value) in keys {
                let is_path = key.ends_with("Path") || key.ends_with("Paths");
                collect(value, is_path, named);
            }
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn by_signature(list: &[Requirement]) -> bool {
    let has = |kinds: &[&str]| list.iter().any(|one| kinds.contains(&one.kind.as_str()));
    has(BY_SIGNATURE) && !has(&[REJECT])
}

fn is_below(scope: &str, place: &str) -> bool {
    let rest = scope.strip_prefix(place);
    place.is_empty() || rest.is_some_and(|rest| rest.starts_with(['/', ':', '@']))
}

/// The scopes from a name in a registry up to all registries (containers/image,
/// docker/policyconfiguration/naming.go).
fn scopes_around(place: &str) -> Vec<String> {
    let mut name = place;
    let mut scopes = vec![name.to_owned()];
    while let Some((parent, _)) = name.rsplit_once('/') {
        scopes.push(parent.to_owned());
        name = parent;
    }
    let mut host = name.split(':').next().unwrap_or_default();
    while let Some((_, parent)) = host.split_once('.') {
        scopes.push(format!("*.{parent}"));
        host = parent;
    }
    scopes.push(String::new());
    scopes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> ContainerImage {
        let text = format!(
            "docker://r.example.com:5000/team/os@sha256:{}",
            "a".repeat(64)
        );
        text.parse().unwrap()
    }

    fn policy(default: &str, scopes: &[(&str, &str)]) -> Policy {
        let scopes: HashMap<_, _> = scopes
            .iter()
            .map(|(scope, kind)| (*scope, serde_json::json!([{ "type": kind }])))
            .collect();
        let text = serde_json::json!({
            "default": [{ "type": default }],
            "transports": { "docker": scopes, "docker-daemon": { "": [{ "type": "signedBy" }] } },
        });
        serde_json::from_value(text).unwrap()
    }

    fn demands(default: &str, scopes: &[(&str, &str)]) -> bool {
        policy(default, scopes).demands_signature(&image())
    }

    const ANYTHING: &str = "insecureAcceptAnything";

    #[test]
    fn the_policy_that_distributions_ship_demands_nothing() {
        assert!(!demands(ANYTHING, &[]));
    }

    #[test]
    fn a_demand_counts_at_every_scope_that_the_image_lies_in() {
        let whole = image().to_string();
        let whole = whole.strip_prefix("docker://").unwrap();
        for scope in [
            whole,
            "r.example.com:5000/team/os",
            "r.example.com:5000/team",
            "r.example.com:5000",
            "*.example.com",
            "*.com",
            "",
        ] {
            assert!(demands(ANYTHING, &[(scope, "sigstoreSigned")]), "{scope}");
        }
        assert!(demands("reject", &[]));
    }

    #[test]
    fn a_scope_of_others_counts_for_nothing() {
        for scope in ["r.example.com", "r.example.com:5000/te", "example.com"] {
            assert!(!demands(ANYTHING, &[(scope, "signedBy")]), "{scope}");
        }
    }

    #[test]
    fn a_narrower_scope_that_accepts_anything_takes_the_demand_away() {
        let scopes = [("r.example.com:5000/team", ANYTHING), ("", "signedBy")];
        assert!(!demands("reject", &scopes));
    }

    #[test]
    fn signed_scope_at_above_or_below_a_place_requires_signatures() {
        let place = "r.example.com/team";
        for scope in [
            "r.example.com/team",
            "r.example.com/team/os",
            "r.example.com",
            "*.example.com",
            "",
        ] {
            let policy = policy(ANYTHING, &[(scope, "signedBy")]);
            assert!(policy.goes_by_signatures(place), "{scope}");
            assert!(policy.goes_by_signatures(""), "{scope}, of all registries");
        }
        for scope in ["r.example.com/teams", "s.example.com"] {
            let policy = policy(ANYTHING, &[(scope, "signedBy")]);
            assert!(!policy.goes_by_signatures(place), "{scope}");
        }
    }

    #[test]
    fn accept_all_or_reject_all_default_does_not_use_signatures() {
        for default in [ANYTHING, "reject"] {
            assert!(!policy(default, &[]).goes_by_signatures("r.example.com"));
            assert!(!policy(default, &[]).goes_by_signatures(""));
        }
    }
}

//! What containers-policy.json(5) demands of one image. skopeo enforces it; here it is only read, to tell a policy that demands a signature from
//! one that lets anything through, as the policy that distributions ship does.

use std::collections::HashMap;
use std::path::Path;
use std::{fs, io};

use serde::Deserialize;
use upgrade::ContainerImage;

/// The file.
#[derive(Debug, Deserialize)]
pub struct Policy {
    default: Vec<Requirement>,
    /// By transport, then by scope.
    #[serde(default)]
    transports: HashMap<String, HashMap<String, Vec<Requirement>>>,
}

#[derive(Debug, Deserialize)]
struct Requirement {
    #[serde(rename = "type")]
    kind: String,
}

/// Requirements that no image without a signature meets. All in a list must be met, so one of these is enough.
const DEMANDING: &[&str] = &["signedBy", "sigstoreSigned", "reject"];
/// The transport of registries in the file.
const REGISTRIES: &str = "docker";

impl Policy {
    /// Reads it.
    ///
    /// # Errors
    /// When it cannot be read or is no policy; the file is named.
    pub fn read(path: &Path) -> io::Result<Self> {
        let named = |error: String| io::Error::other(format!("{}: {error}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| named(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| named(error.to_string()))
    }

    /// Whether it lets an image in a registry through only with a signature.
    pub fn demands_signature(&self, image: &ContainerImage) -> bool {
        let requirements = self.requirements(image);
        requirements
            .iter()
            .any(|one| DEMANDING.contains(&one.kind.as_str()))
    }

    /// The narrowest scope decides alone (containers/image, signature/policy_eval.go, `requirementsForImageRef`).
    fn requirements(&self, image: &ContainerImage) -> &[Requirement] {
        let scopes = self.transports.get(REGISTRIES);
        let named = scopes.and_then(|known| {
            let mut names = scopes_of(image).into_iter();
            names.find_map(|name| known.get(&name))
        });
        named.unwrap_or(&self.default)
    }
}

/// From the image itself to all registries (containers/image, docker/policyconfiguration/naming.go).
fn scopes_of(image: &ContainerImage) -> Vec<String> {
    let mut scopes = vec![format!("{}@{}", image.place, image.manifest)];
    let mut name = image.place.as_str();
    scopes.push(name.to_owned());
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

    fn demands(default: &str, scopes: &[(&str, &str)]) -> bool {
        let scopes: HashMap<_, _> = scopes
            .iter()
            .map(|(scope, kind)| (*scope, serde_json::json!([{ "type": kind }])))
            .collect();
        let text = serde_json::json!({
            "default": [{ "type": default }],
            "transports": { "docker": scopes, "docker-daemon": { "": [{ "type": "signedBy" }] } },
        });
        let policy: Policy = serde_json::from_value(text).unwrap();
        policy.demands_signature(&image())
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
}

//! Reads a manifest before skopeo acts on it. skopeo fetches the config of an image from the
//! `urls` in the manifest, whatever server they name, before anything vouches for the image. For a
//! manifest in Docker's format it does so even to show the manifest, because it converts it
//! (containers/image, internal/image/docker_schema2.go, `convertToManifestOCI1`).

use serde_json::Value;
use upgrade::id::ManifestDigest;

use super::plain::Plain;

/// How many images of a list may be for this machine.
const MOST: usize = 8;

/// An image in a list that skopeo may choose on this machine.
#[derive(Debug, PartialEq, Eq)]
pub struct Listed {
    /// The digest of its manifest.
    pub digest: ManifestDigest,
    /// The size of its manifest.
    pub size: u64,
}

/// The images of a list for this machine; none if the manifest is no list.
///
/// # Errors
/// The config is not stored with the image, or the manifest is ambiguous. The message is for a
/// person.
pub fn of(manifest: &[u8]) -> Result<Vec<Listed>, String> {
    let parsed =
        serde_json::from_slice(manifest).and_then(|Plain| serde_json::from_slice(manifest));
    let manifest: Value = parsed.map_err(|error| format!("its manifest: {error}"))?;
    if has_urls(&manifest["config"]) {
        return Err("its config is not stored with it: the manifest has urls for it".to_owned());
    }
    let list = manifest["manifests"].as_array();
    let here = list.into_iter().flatten().filter(|one| is_for_here(one));
    let listed: Result<Vec<_>, _> = here.map(listed).collect();
    match listed {
        Ok(many) if many.len() > MOST => Err(format!(
            "its list has {} images for this machine; at most {MOST} are supported",
            many.len()
        )),
        other => other,
    }
}

fn has_urls(config: &Value) -> bool {
    match config.get("urls") {
        None | Some(Value::Null) => false,
        Some(Value::Array(urls)) => !urls.is_empty(),
        Some(Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => true,
    }
}

/// skopeo also chooses an image without a platform.
fn is_for_here(one: &Value) -> bool {
    let named = one["platform"]["architecture"].as_str();
    named.zip(go_name()).is_none_or(|(named, own)| named == own)
}

/// Go's name of this architecture, where it is known.
fn go_name() -> Option<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Some("amd64"),
        "aarch64" => Some("arm64"),
        _ => None,
    }
}

fn listed(one: &Value) -> Result<Listed, String> {
    let digest = one["digest"].as_str().and_then(|text| text.parse().ok());
    let listed = digest.zip(one["size"].as_u64());
    let (digest, size) = listed.ok_or("its list has an image without a digest or a size")?;
    Ok(Listed { digest, size })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn refused(manifest: &str) -> String {
        of(manifest.as_bytes()).unwrap_err()
    }

    #[test]
    fn config_at_another_address_is_refused_however_it_is_written() {
        for config in [
            r#""config": { "urls": ["http://a/"] }"#,
            r#""config": { "urls": "http://a/" }"#,
            r#""config": { "\u0075rls": ["http://a/"] }"#,
            r#""config": { "URLs": ["http://a/"] }"#,
            r#""config": { "url\u017f": ["http://a/"] }"#,
            r#""Config": { "urls": ["http://a/"] }, "config": {}"#,
            r#""config": { "urls": ["http://a/"] }, "config": {}"#,
            r#""config": { "urls": ["http://a/"], "urls": [] }"#,
        ] {
            let why = refused(&format!("{{ {config} }}"));
            assert!(why.starts_with("its "), "{config}: {why}");
        }
        for config in [json!({}), json!({ "urls": null }), json!({ "urls": [] })] {
            let manifest = json!({ "config": config, "layers": [{ "urls": ["http://a/"] }] });
            assert_eq!(of(manifest.to_string().as_bytes()), Ok(Vec::new()));
        }
        assert!(refused("{").starts_with("its manifest: "));
    }

    #[test]
    fn of_a_list_the_images_that_may_be_chosen_here_are_named() {
        let own = go_name().unwrap_or("own");
        let one = |letter: &str, platform: Value| {
            json!({ "size": 7, "platform": platform,
            "digest": format!("sha256:{}", letter.repeat(64)) })
        };
        let list = |all: Vec<Value>| of(json!({ "manifests": all }).to_string().as_bytes());
        let platform = |name: &str| json!({ "architecture": name, "os": "linux" });
        let found = list(vec![
            one("a", platform(own)),
            one("b", platform("s390x")),
            one("c", Value::Null),
        ]);
        let digests: Vec<_> = found
            .unwrap()
            .into_iter()
            .map(|one| one.digest.to_string())
            .collect();
        if go_name().is_some() {
            assert_eq!(
                digests,
                ["a", "c"].map(|letter| format!("sha256:{}", letter.repeat(64)))
            );
        }
        let many = (0..=MOST).map(|_| one("a", Value::Null)).collect();
        assert!(list(many).unwrap_err().contains("at most 8"));
        assert!(list(vec![json!({ "digest": "md5:1", "size": 1 })]).is_err());
    }
}

//! The annotations of a request, one per line: request, image, Kubernetes version, id, soak. A
//! missing line is a missing annotation.

use std::collections::BTreeMap;

use upgrade::target::request;
use upgrade::{Malformed, RawRequest, Reason, Request, Source, Target, Wanted, names};

/// A valid value prints as it was written and cannot escape its place. An invalid one is refused
/// with its field, cut to the length of a message.
pub fn check(input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let lines = text.split('\n').map(str::to_owned);
    let there: BTreeMap<&str, String> = request::KEYS.into_iter().zip(lines).collect();
    let raw = request::from_annotations(|key| there.get(key).cloned()).unwrap_or_default();
    let written = request::to_patch(&raw);
    let again = request::from_annotations(|key| written[key].clone());
    assert_eq!(again.as_ref(), Some(&raw));
    match raw.parse() {
        Ok(request) => taken(&raw, &request),
        Err(bad) => refused(&raw, bad),
    }
}

fn taken(raw: &RawRequest, request: &Request) {
    assert_eq!(raw.request, names::REQUEST_SCHEDULED);
    assert_eq!(Some(request.wanted.to_string()), raw.image);
    assert_eq!(
        request.kubernetes.as_ref().map(ToString::to_string),
        raw.kubernetes
    );
    assert_eq!(request.id.as_ref().map(ToString::to_string), raw.id);
    let soak = raw.soak.as_ref().and_then(|text| text.parse().ok());
    assert_eq!(request.soak_seconds, soak);
    if let Wanted::Image(target) = &request.wanted {
        image(target);
    }
    if let Some(id) = &request.id {
        assert!(!id.as_str().contains('/') && id.as_str() != "..");
    }
}

fn image(target: &Target) {
    leads_nowhere_else(&target.source);
    let json = serde_json::to_string(target).unwrap_or_default();
    assert_eq!(serde_json::from_str(&json).ok().as_ref(), Some(target));
}

/// The values become parts of paths, refs, unit names and skopeo arguments.
fn leads_nowhere_else(source: &Source) {
    let parts: Vec<&str> = match source {
        Source::Remote(branch) => {
            assert!(!branch.remote.contains('/'));
            assert!(!branch.reference.starts_with('.') && !branch.reference.contains("/."));
            vec![&branch.remote, &branch.reference]
        }
        Source::Container(image) => {
            assert!(image.place.contains('/') && !image.place.contains(['@', '\\', '"']));
            let path = image.place.strip_prefix('/');
            vec![path.unwrap_or(&image.place)]
        }
    };
    for part in parts.into_iter().flat_map(|part| part.split('/')) {
        assert!(!matches!(part, "" | "." | ".."), "{part:?}");
        assert!(!part.starts_with('-'), "{part:?}");
        assert!(!part.contains(|letter: char| letter.is_whitespace() || letter.is_control()));
    }
}

/// The longest value that a message repeats, in characters, with the marks of a cut.
const SHOWN: usize = 242;

fn refused(raw: &RawRequest, bad: Malformed) {
    let mut written = request::to_patch(raw);
    let Some(of_field) = written.remove(bad.field) else {
        unreachable!("no annotation is called {}", bad.field)
    };
    let value = of_field.unwrap_or_default();
    let first = bad.value.split('…').next().unwrap_or_default();
    assert!(value.starts_with(first), "the value of {}", bad.field);
    assert!(bad.value.chars().count() <= SHOWN, "{}", bad.value);
    assert!(!bad.accepted.is_empty());
    let field = bad.field;
    let text = Reason::from(bad).to_string();
    assert!(text.contains(field) && text.contains(". Use "), "{text}");
}

//! Which images a Machine may request for its node. Both the acceptance of a change and the later
//! request use this one decision.

use serde_json::Value;
use upgrade::container::Transport;
use upgrade::{Malformed, Source, Target};

/// The accepted forms. Archives are excluded: a path names a different file on each node, or none.
pub const ACCEPTED: &str = "ostree:<remote>:<ref>[@<commit>] or docker://<host>/<name>@sha256:<digest>[@<commit>], where commit and digest are 64 \
                            lower-case hexadecimal digits";

/// The image that a field names, if the field names one for Careen.
///
/// # Errors
/// A message, if the field has one of Careen's forms but names an image that no node may be asked
/// for.
pub(super) fn named(value: Option<&Value>) -> Result<Option<Target>, String> {
    let Some(text) = value.and_then(Value::as_str) else {
        return Ok(None);
    };
    match text.parse::<Target>() {
        Ok(target) if is_for_all(&target) => Ok(Some(target)),
        Ok(_) => Err(format!("{text:?} is not valid; use {ACCEPTED}")),
        // A foreign field with that name is not Careen's to judge.
        Err(_) if !begins_as_ours(text) => Ok(None),
        Err(bad) => Err(Malformed {
            accepted: ACCEPTED,
            ..bad
        }
        .to_string()),
    }
}

/// Whether the image is the same for every node.
const fn is_for_all(target: &Target) -> bool {
    match &target.source {
        Source::Remote(_) => true,
        Source::Container(image) => match image.transport {
            Transport::Registry => true,
            Transport::Archive | Transport::Folder => false,
        },
    }
}

fn begins_as_ours(text: &str) -> bool {
    let ours = ["ostree:", Transport::Registry.prefix()];
    let text = text.trim_start().to_ascii_lowercase();
    ours.iter().any(|prefix| text.starts_with(prefix))
}

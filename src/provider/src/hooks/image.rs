//! Which images a node may be asked for by a Machine: what is let in as a change and what is then passed on are decided here, once.

use serde_json::Value;
use upgrade::container::Transport;
use upgrade::{Source, Target};

/// The accepted forms. Archives are none: a path on a node means another file on each, or nothing.
pub const ACCEPTED: &str = "ostree:<remote>:<ref>[@<commit>] or docker://<host>/<name>@sha256:<digest>[@<commit>], where commit and digest are 64 \
                            lower-case hexadecimal digits";

/// What a field that may name an image says to us.
///
/// # Errors
/// In words, when it names an image in one of our forms that no node is asked for.
pub(super) fn named(value: Option<&Value>) -> Result<Option<Target>, String> {
    let Some(text) = value.and_then(Value::as_str) else {
        return Ok(None);
    };
    match text.parse() {
        Ok(target) if is_for_all(&target) => Ok(Some(target)),
        // Somebody else's field of that name is not ours to judge.
        Err(_) if !begins_as_ours(text) => Ok(None),
        Ok(_) | Err(_) => Err(format!("{text:?} is not valid; use {ACCEPTED}")),
    }
}

/// Whether it is the same image for every node.
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
    ours.iter().any(|prefix| text.starts_with(prefix))
}

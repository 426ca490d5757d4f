//! What a node remembers of an image. Its agent does not retry a bad image on its own, but treats
//! each new id as a deliberate request. So this program must find out whether the person intends
//! the retry, whatever was requested of the node in between.

use upgrade::history::Past;
use upgrade::report::Answer;
use upgrade::{Source, Target};

use crate::duration;
use crate::past_upgrades;
use crate::view::NodeView;

/// Why the image needs an explicit request: its last trial on this node failed.
pub(super) fn objection(node: &NodeView, image: &str) -> Option<String> {
    let image: Target = image.parse().ok()?;
    let past = failed(node, &image)?;
    let code = past.code.as_deref().unwrap_or("no code was given");
    let or = match image.is_pinned() {
        true => "",
        false => "; to request what it resolves to by now, name that commit",
    };
    Some(format!(
        "{} failed its trial on this node at {}: {code}; use `--again` to request it anyway{or}",
        past.image,
        duration::moment(past.ended),
    ))
}

/// The last trial of the image, if it failed. An attempt that did not reach a trial says nothing
/// about the image.
fn failed(node: &NodeView, image: &Target) -> Option<Past> {
    let known = past_upgrades::of(std::slice::from_ref(node));
    let mut known = known.into_iter().map(|told| told.past);
    let latest = known.find(|past| is_verdict(past) && is_image(&past.image, image))?;
    (latest.answer == Answer::Failed).then_some(latest)
}

const fn is_verdict(past: &Past) -> bool {
    past.tries > 0 || matches!(past.answer, Answer::Upgraded)
}

/// Whether a requested image is this one.
#[must_use]
pub fn is_image(asked: &str, image: &Target) -> bool {
    let known: Result<Target, _> = asked.parse();
    known.is_ok_and(|known| is_same(&known, image))
}

/// A commit is the same image from any source, and so is the digest of a container image. A ref may
/// point elsewhere by now, and the client cannot tell whether it does. So equal text means an equal
/// image, and refs are not resolved to commits.
fn is_same(one: &Target, other: &Target) -> bool {
    if let (Some(one), Some(other)) = (&one.commit, &other.commit) {
        return one == other;
    }
    match (&one.source, &other.source) {
        (Source::Container(one), Source::Container(other)) => one.manifest == other.manifest,
        (Source::Remote(_) | Source::Container(_), _) => one == other,
    }
}

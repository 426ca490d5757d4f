//! Going back. What a node keeps is the system before the last that was blessed, whatever has come of it since: an upgrade that failed has
//! undone itself, and one that was undone leaves the system that it had brought. So it is asked for where the last upgrade went well, and
//! nowhere else unmeant.

use std::collections::BTreeMap;

use requests::PhaseName;
use upgrade::report::Answer;
use upgrade::{Target, names};

use super::{Wish, Wishless, memory};
use crate::cli;
use crate::render::few::few;
use crate::standing::Standing;
use crate::view::NodeView;

/// How to go back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollback {
    /// To whatever system is kept, also where no upgrade is undone by that.
    pub again: bool,
    /// Only where the last upgrade was to this image.
    pub from: Option<Target>,
}

impl From<&cli::Rollback> for Rollback {
    fn from(asked: &cli::Rollback) -> Self {
        Self {
            again: asked.again,
            from: asked.from.clone(),
        }
    }
}

/// The end of an upgrade, as the node remembers it.
struct Verdict<'a> {
    answer: Answer,
    image: &'a str,
    tries: u32,
}

/// The kept system, where that undoes the last upgrade.
pub(super) fn wish(node: &NodeView, rollback: &Rollback) -> Result<Wish, Wishless> {
    if rollback.again || is_on_its_way(node) {
        return Ok(Wish::kept());
    }
    let image = undone(node)?;
    match &rollback.from {
        Some(from) if !memory::is_image(image, from) => {
            let why = format!("its last upgrade was to another image, {image}");
            Err(Wishless::Needless(why))
        }
        Some(_) | None => Ok(Wish::kept()),
    }
}

/// An upgrade that is under way has no end yet, and a way back that is asked for already is joined.
fn is_on_its_way(node: &NodeView) -> bool {
    let standing = Standing::of(node);
    let asks_for_it = standing.is_waiting() && node.image() == Some(names::KEPT_IMAGE);
    standing == Standing::Working || asks_for_it
}

/// The image that the last upgrade was to, if that is there to be undone.
///
/// # Errors
/// Why not.
pub fn undone(node: &NodeView) -> Result<&str, Wishless> {
    match Standing::of(node) {
        Standing::Idle => Err(nothing(node, "nothing was ever upgraded on it")),
        Standing::Working => Err(nothing(node, "its upgrade has not ended")),
        Standing::Asked | Standing::Held => Err(Wishless::Refuse(
            "it has not answered its request yet: `kubectl careen cancel` withdraws that"
                .to_owned(),
        )),
        Standing::Halted => Err(nothing(node, "a person must look at it first")),
        Standing::Failed if node.reply.phase() == PhaseName::Upgraded => {
            Err(nothing(node, "the earlier system runs already"))
        }
        Standing::Upgraded | Standing::Failed | Standing::Refused => of_the_past(node),
    }
}

fn of_the_past(node: &NodeView) -> Result<&str, Wishless> {
    let verdicts = verdicts(node);
    match verdicts.iter().find(|verdict| verdict.tells()) {
        Some(last) if last.answer != Answer::Upgraded => Err(nothing(
            node,
            "its last upgrade failed, and it runs what it ran before",
        )),
        Some(last) if last.image == names::KEPT_IMAGE => Err(Wishless::Done(
            "it has gone back already; `--again` changes to the system that it left".to_owned(),
        )),
        Some(last) => Ok(last.image),
        // Of an agent that keeps no history: a way back that has failed was meant.
        None if node.history.is_none() && node.image() == Some(names::KEPT_IMAGE) => {
            Ok(names::KEPT_IMAGE)
        }
        None => Err(nothing(node, "it does not say which upgrade was its last")),
    }
}

/// The latest first; of an agent that keeps no history the one that stands.
fn verdicts(node: &NodeView) -> Vec<Verdict<'_>> {
    let Some(history) = &node.history else {
        let answer = match Standing::of(node).is_bad() {
            true => Answer::Failed,
            false => Answer::Upgraded,
        };
        let tries = node.reply.status.as_ref().map_or(1, |status| status.tries);
        let one = node.image().map(|image| Verdict {
            answer,
            image,
            tries,
        });
        return one.into_iter().collect();
    };
    let past = history.iter().map(|past| Verdict {
        answer: past.answer,
        image: &past.image,
        tries: past.tries,
    });
    past.collect()
}

impl Verdict<'_> {
    /// Not of an image that ran already, nor of a way back that failed: after these a node runs and keeps what it did before.
    fn tells(&self) -> bool {
        match self.answer {
            Answer::Upgraded => self.tries > 0,
            Answer::Failed | Answer::InProgress => self.image != names::KEPT_IMAGE,
        }
    }
}

/// Whether one upgrade is meant. A rollout that was stopped has left nodes whose last upgrade was the one before: nobody who undoes it wants
/// these to go back as well.
pub(super) fn is_clear(nodes: &[NodeView], rollback: &Rollback) -> Result<(), String> {
    if rollback.again || rollback.from.is_some() {
        return Ok(());
    }
    let mut by_image: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for node in nodes {
        if let Ok(image) = undone(node) {
            by_image.entry(image).or_default().push(&node.name);
        }
    }
    if by_image.len() < 2 {
        return Ok(());
    }
    let told = by_image.iter();
    let told = told.map(|(image, names)| format!("{image} ({})", few(names)));
    Err(format!(
        "the last upgrades of these nodes were to different images: {}; name the one to undo with `--from`",
        told.collect::<Vec<_>>().join(", ")
    ))
}

fn nothing(node: &NodeView, why: &str) -> Wishless {
    Wishless::Needless(format!(
        "there is nothing to undo: {why}; `--again` requests the kept system all the same, and `kubectl careen plan {} --image {}` \
         shows what that does",
        node.name,
        names::KEPT_IMAGE
    ))
}

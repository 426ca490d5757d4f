//! Rollback. A node keeps the system before the last one that was blessed, no matter what followed.
//! A failed upgrade has already undone itself, and an upgrade that was rolled back leaves its own
//! system as the kept one. So a rollback is requested where the last upgrade succeeded, and
//! elsewhere only on explicit demand.

use std::collections::BTreeMap;

use requests::PhaseName;
use upgrade::report::Answer;
use upgrade::{Target, names};

use super::memory;
use super::wish::{Wish, Wishless};
use crate::cli;
use crate::standing::Standing;
use crate::view::NodeView;
use upgrade::reason::few;

/// The options of a rollback.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rollback {
    /// Go to the kept system even if that undoes no upgrade.
    pub again: bool,
    /// Only if the last upgrade was to this image.
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

/// Requests the kept system if that undoes the last upgrade.
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

/// An upgrade in progress has no result yet, and a rollback that is already requested is joined.
fn is_on_its_way(node: &NodeView) -> bool {
    let standing = Standing::of(node);
    let asks_for_it = standing.is_waiting() && node.image() == Some(names::KEPT_IMAGE);
    standing == Standing::Working || asks_for_it
}

/// The image of the last upgrade, if that upgrade can be undone.
///
/// # Errors
/// The reason why it cannot.
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
        // For an agent without a history: the rollback that failed was intended.
        None if node.history.is_none() && node.image() == Some(names::KEPT_IMAGE) => {
            Ok(names::KEPT_IMAGE)
        }
        None => Err(nothing(node, "it does not say which upgrade was its last")),
    }
}

/// The results, latest first. An agent without a history has only the current one.
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
    /// Whether the result changed what the node runs and keeps. An image that ran already and a
    /// failed rollback do not.
    fn tells(&self) -> bool {
        match self.answer {
            Answer::Upgraded => self.tries > 0,
            Answer::Failed | Answer::InProgress => self.image != names::KEPT_IMAGE,
        }
    }
}

/// Whether the rollback means one upgrade. A stopped rollout leaves nodes whose last upgrade was an
/// earlier one. Nobody who undoes the rollout wants to roll these back too.
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
        "there is nothing to undo: {why}; `--again` requests the kept system anyway, and `kubectl careen plan {} --image {}` \
         shows what that does",
        node.name,
        names::KEPT_IMAGE
    ))
}

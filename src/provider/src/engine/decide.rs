//! The decision table: who requests what, and of which Node. [`super::pursue`] handles a wish that
//! is complete.

use requests::NodeFacts;
use upgrade::{Malformed, Target, UpgradeId, Version};

use super::answer::clean;
use super::leave::{cancelled, idle};
use super::mark::{hold, unheard};
use super::plan::upgrade_id;
use super::pursue::pursue;
use super::{Decision, Facts, Machine, NodeView, Road, Wanted, Why};

/// What to write and what to report about one Machine now.
#[must_use]
pub fn decide(facts: &Facts<'_>) -> Decision {
    if facts.machine.deleting {
        return cancelled(facts, Why::Deleted);
    }
    if let Some(what) = facts.paused {
        return cancelled(
            facts,
            Why::Paused {
                what: what.to_owned(),
            },
        );
    }
    match facts.road {
        Road::None => idle(facts),
        Road::Untold => unheard(facts),
        Road::Wanted(wanted) => match wanted_of(facts, wanted) {
            Ok(ready) => pursue(facts, &ready),
            Err(why) => hold(facts, why),
        },
    }
}

/// A complete wish, and the Node that it is for.
pub(super) struct Ready<'a> {
    pub(super) node: &'a NodeFacts,
    pub(super) version: Version,
    pub(super) text: &'a str,
    pub(super) image: &'a Target,
    pub(super) id: UpgradeId,
}

fn wanted_of<'a>(facts: &Facts<'a>, wanted: &'a Wanted) -> Result<Ready<'a>, Why> {
    let bad_version = |wrong: String| Why::BadVersion {
        version: clean(&wanted.version),
        wrong,
    };
    let parsed: Result<Version, Malformed> = wanted.version.parse();
    let version = parsed.map_err(|bad| bad_version(bad.wrong.unwrap_or_default()))?;
    let node = node_of(facts)?;
    let image = wanted.image.as_ref().map_err(Clone::clone)?;
    let id = upgrade_id(facts.machine, &wanted.version, image);
    let id = id.ok_or_else(|| bad_version("it is too long for an id".to_owned()))?;
    Ok(Ready {
        node,
        version,
        text: &wanted.version,
        image,
        id,
    })
}

/// The Machine's Node, if it is visible and belongs to the Machine.
fn node_of<'a>(facts: &Facts<'a>) -> Result<&'a NodeFacts, Why> {
    let machine = facts.machine;
    let node = match facts.node {
        NodeView::Away(detail) => {
            return Err(Why::ApiAway {
                cluster: machine.cluster.clone(),
                detail: clean(detail),
            });
        }
        NodeView::Missing => match &machine.node {
            None => return Err(Why::NoNode),
            Some(node) => {
                return Err(Why::NodeMissing {
                    node: node.clone(),
                    cluster: machine.cluster.clone(),
                });
            }
        },
        NodeView::Seen(node) => node,
    };
    match others_id(machine, node) {
        None => Ok(node),
        Some((wanted, found)) => Err(Why::NodeMismatch {
            node: node.name.clone(),
            found: clean(found),
            wanted: wanted.to_owned(),
        }),
    }
}

/// The provider ids of the Machine and of the Node, if they show that the Node belongs to another
/// machine.
pub(super) fn others_id<'a>(
    machine: &'a Machine,
    node: &'a NodeFacts,
) -> Option<(&'a str, &'a str)> {
    let both = machine
        .provider_id
        .as_deref()
        .zip(node.provider_id.as_deref());
    both.filter(|(wanted, found)| wanted != found)
}

//! A wish that is complete: its version, its image, its id, and its Node.

use requests::NodeFacts;
use upgrade::{Malformed, Target, UpgradeId, Version};

use super::answer::clean;
use super::facts::{Desired, Facts, NodeView};
use super::machine::others_id;
use super::plan::upgrade_id;
use super::why::Why;

/// A complete wish, and the Node that it is for.
pub(super) struct Ready<'a> {
    pub(super) node: &'a NodeFacts,
    pub(super) version: Version,
    pub(super) text: &'a str,
    pub(super) image: &'a Target,
    pub(super) id: UpgradeId,
}

/// The wish, if it is complete.
///
/// # Errors
/// What it lacks.
pub(super) fn wanted_of<'a>(facts: &Facts<'a>, wanted: &'a Desired) -> Result<Ready<'a>, Why> {
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
        NodeView::Away(detail) => return Err(away(facts, detail)),
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

/// The only member of a control plane takes the API server with it when it boots.
fn away(facts: &Facts<'_>, detail: &str) -> Why {
    let machine = facts.machine;
    let (cluster, detail) = (machine.cluster.clone(), clean(detail));
    let is_only = machine.control_plane && facts.control_plane.members == 1;
    match &machine.node {
        Some(node) if is_only && machine.mark.is_some() => Why::OnlyApiAway {
            cluster,
            node: node.clone(),
            detail,
        },
        Some(_) | None => Why::ApiAway { cluster, detail },
    }
}

//! Repeats a failed request.

use super::ask::under_way;
use super::wish::{Wish, Wishless};
use crate::standing::Standing;
use crate::view::{CurrentRequest, NodeView};

/// The failed request, if it is still the one that was read `first`. Another request may have been
/// made since.
pub(super) fn wish(first: &NodeView, node: &NodeView) -> Result<Wish, Wishless> {
    let refuse = |why: &str| Err(Wishless::Refuse(why.to_owned()));
    match Standing::of(node) {
        Standing::Failed | Standing::Refused | Standing::Halted => {}
        Standing::Working => return Err(Wishless::Refuse(under_way(node))),
        Standing::Asked | Standing::Held => return refuse("it has not answered yet"),
        Standing::Idle | Standing::Upgraded => {
            return Err(Wishless::Needless("nothing has failed on it".to_owned()));
        }
    }
    match (&node.asked, &first.asked) {
        (None, _) => refuse("its request has been withdrawn since: use `kubectl careen upgrade`"),
        (Some(asked), Some(first)) if asked.raw == first.raw => wish_of(asked),
        (Some(_), _) => refuse(
            "a different request has failed on it in the meantime: check that request, and repeat the command",
        ),
    }
}

fn wish_of(asked: &CurrentRequest) -> Result<Wish, Wishless> {
    let why = "its request names no image: use `kubectl careen upgrade`";
    let image = asked.raw.image.clone();
    let image = image.ok_or_else(|| Wishless::Refuse(why.to_owned()))?;
    Ok(Wish {
        image,
        kubernetes: asked.raw.kubernetes.clone(),
        despite_failure: true,
        soak: asked.raw.soak.clone(),
    })
}

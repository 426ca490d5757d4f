//! Lets another member lead etcd, before this node goes away.

use upgrade::control_plane::{Component, Failure, Stay, Yielding};

use crate::etcd::hand_over;
use crate::folder::Folder;
use crate::manifests::Manifests;
use crate::node::{self, NoControlPlane};
use crate::own;
use crate::stacked::{self, Stacked};

/// Moves the leadership if the member of this node leads and another one can.
///
/// # Errors
/// This is no control-plane node.
pub async fn r#yield(folder: &Folder) -> Result<Yielding, NoControlPlane> {
    node::check(folder)?;
    if matches!(stacked::look(folder).await, Stacked::No) {
        return Ok(Yielding::Stayed(Stay::External));
    }
    let manifests = Manifests::read(folder);
    Ok(
        match own::member(folder, manifests.all.get(&Component::Etcd)) {
            Ok((client, own)) => hand_over(&client, &own).await,
            Err((source, why)) => Yielding::Failed(Failure::new(source, why)),
        },
    )
}

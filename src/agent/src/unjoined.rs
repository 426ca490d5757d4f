//! A prepared host without a cluster. careen-host says in /run what it asks for, and since when it
//! reaches its management cluster.

use std::fs;
use std::path::Path;

use host::Places;
use upgrade::observe::Check;
use upgrade::{Api, Asked, Health, Membership, NodeView, SinceBoot, names};

/// What careen-host shows, in place of a Node. `None` on a node, and on a machine without
/// careen-host. A credential that cannot be looked at may be there, so the machine stays a node.
#[must_use]
pub fn look(places: &Places) -> Option<NodeView> {
    let below = |path: &str| places.root.join(path.trim_start_matches('/'));
    let is_prepared = places.state().join(names::HOST_DIR).is_dir();
    let may_be_joined = below(names::KUBELET_CONF).try_exists().unwrap_or(true);
    if !is_prepared || may_be_joined {
        return None;
    }
    let run = below(names::RUN_DIR);
    Some(NodeView {
        membership: Membership::Unjoined,
        request: asked(&run.join(names::HOST_REQUEST)),
        api: reached(&run.join(names::HOST_REACHED)),
        ..NodeView::default()
    })
}

/// A request that cannot be read says nothing: careen-host writes it again.
fn asked(path: &Path) -> Asked {
    match fs::read(path) {
        Ok(text) => serde_json::from_slice(&text).map_or(Asked::Unknown, Asked::This),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Asked::Nothing,
        Err(_) => Asked::Unknown,
    }
}

fn reached(path: &Path) -> Api {
    let text = fs::read_to_string(path).unwrap_or_default();
    match text.trim().parse() {
        Ok(since) => Api::Reached {
            since: SinceBoot(since),
            version: None,
        },
        Err(_) => Api::Away,
    }
}

/// The health of a trial here. Nothing is asked of a kubelet that has no cluster. Instead careen-host
/// must reach its management cluster, or the host would be lost to its owner.
#[must_use]
pub fn health(health: Health, node: &NodeView) -> Health {
    let ready = match node.api {
        Api::Reached { .. } => Check::Pass,
        Api::Away => Check::Pending(
            "careen-host has not reached the management cluster in this boot".to_owned(),
        ),
    };
    Health {
        ready,
        version: Check::Pass,
        ..health
    }
}

#[cfg(test)]
mod tests {
    use upgrade::RawRequest;

    use super::*;

    fn machine() -> (tempfile::TempDir, Places) {
        let folder = tempfile::tempdir().unwrap();
        let places = Places::running(folder.path());
        for path in [
            places.state().join("host"),
            folder.path().join("run/careen"),
        ] {
            fs::create_dir_all(path).unwrap();
        }
        fs::create_dir_all(folder.path().join("etc/kubernetes")).unwrap();
        (folder, places)
    }

    #[test]
    fn host_without_a_credential_is_asked_by_careen_host() {
        let (folder, places) = machine();
        let run = folder.path().join("run/careen");
        let seen = look(&places).unwrap();
        assert_eq!((seen.request, seen.api), (Asked::Nothing, Api::Away));
        let request = RawRequest::scheduled("ostree:careen:os");
        let text = serde_json::to_vec(&request).unwrap();
        fs::write(run.join("host-request"), text).unwrap();
        fs::write(run.join("host-reached"), "61000\n").unwrap();
        let seen = look(&places).unwrap();
        assert_eq!(seen.membership, Membership::Unjoined);
        assert_eq!(seen.request, Asked::This(request));
        assert!(matches!(
            seen.api,
            Api::Reached {
                since: SinceBoot(61_000),
                ..
            }
        ));
        fs::write(run.join("host-request"), "{").unwrap();
        assert_eq!(look(&places).unwrap().request, Asked::Unknown);
    }

    #[test]
    fn node_of_a_cluster_listens_to_its_node_alone() {
        let (folder, places) = machine();
        fs::write(folder.path().join("etc/kubernetes/kubelet.conf"), "").unwrap();
        assert_eq!(look(&places), None);
        let (folder, places) = machine();
        fs::remove_dir_all(places.state()).unwrap();
        assert_eq!(look(&places), None, "{folder:?}");
    }

    #[test]
    fn credential_that_cannot_be_looked_at_keeps_the_node() {
        let (folder, places) = machine();
        // A link that leads to itself: the kernel gives up with ELOOP.
        let path = folder.path().join("etc/kubernetes/kubelet.conf");
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(look(&places), None);
    }

    #[test]
    fn host_that_was_not_reached_is_not_healthy() {
        let node = |api| NodeView {
            membership: Membership::Unjoined,
            api,
            ..NodeView::default()
        };
        let away = health(Health::unknown(), &node(Api::Away));
        assert!(matches!(away.ready, Check::Pending(_)));
        let since = SinceBoot(1);
        let reached = Api::Reached {
            since,
            version: None,
        };
        assert_eq!(health(Health::unknown(), &node(reached)).ready, Check::Pass);
    }
}

//! A prepared host without a cluster. careen-host says in /run what it asks for, and since when and
//! until when it has reached its management cluster.

use std::fs;
use std::path::{Path, PathBuf};

use host::Places;
use upgrade::observe::Check;
use upgrade::{Api, Asked, Health, Membership, NodeView, SinceBoot, names};

/// How old careen-host's last word of its management cluster may be, in seconds. It renews it every
/// 20 s, but not in a turn that waits for a server or a disk.
const FRESH: u64 = 300;

/// Whether this machine is a prepared host without a cluster. A credential that cannot be looked at
/// may be there, so the machine stays a node.
#[must_use]
pub fn is_unjoined(places: &Places) -> bool {
    let is_prepared = places.state().join(names::HOST_DIR).is_dir();
    let credential = below(places, names::KUBELET_CONF);
    is_prepared && !credential.try_exists().unwrap_or(true)
}

fn below(places: &Places, path: &str) -> PathBuf {
    places.root.join(path.trim_start_matches('/'))
}

/// What careen-host shows now, in place of a Node. `None` on a node, and on a machine without
/// careen-host.
#[must_use]
pub fn look(places: &Places, now: SinceBoot) -> Option<NodeView> {
    if !is_unjoined(places) {
        return None;
    }
    let run = below(places, names::RUN_DIR);
    Some(NodeView {
        membership: Membership::Unjoined,
        request: asked(&run.join(names::HOST_REQUEST)),
        api: reached(&run.join(names::HOST_REACHED), now),
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

/// careen-host may have died since it wrote the file, so what it says is not true for long.
fn reached(path: &Path, now: SinceBoot) -> Api {
    let text = fs::read_to_string(path).unwrap_or_default();
    let moments: Vec<Result<u64, _>> = text.split_whitespace().map(str::parse).collect();
    let (Some(Ok(since)), Some(Ok(last))) = (moments.first(), moments.last()) else {
        return Api::Away;
    };
    if now.seconds_since(SinceBoot(*last)) >= FRESH {
        return Api::Away;
    }
    Api::Reached {
        since: SinceBoot(*since),
        version: None,
    }
}

/// The health of a trial here. Nothing is asked of a kubelet that has no cluster. Instead careen-host
/// must reach its management cluster, or the host would be lost to its owner.
#[must_use]
pub fn health(health: Health, node: &NodeView) -> Health {
    let ready = match node.api {
        Api::Reached { .. } => Check::Pass,
        Api::Away => Check::Pending("careen-host does not reach the management cluster".to_owned()),
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
        let look = |places| look(places, SinceBoot(70_000));
        let seen = look(&places).unwrap();
        assert_eq!((seen.request, seen.api), (Asked::Nothing, Api::Away));
        let request = RawRequest::scheduled("ostree:careen:os");
        let text = serde_json::to_vec(&request).unwrap();
        fs::write(run.join("host-request"), text).unwrap();
        fs::write(run.join("host-reached"), "61000 66000").unwrap();
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
        assert_eq!(look(&places, SinceBoot(1)), None);
        let (folder, places) = machine();
        fs::remove_dir_all(places.state()).unwrap();
        assert_eq!(look(&places, SinceBoot(1)), None, "{folder:?}");
    }

    #[test]
    fn credential_that_cannot_be_looked_at_keeps_the_node() {
        let (folder, places) = machine();
        // A link that leads to itself: the kernel gives up with ELOOP.
        let path = folder.path().join("etc/kubernetes/kubelet.conf");
        std::os::unix::fs::symlink(&path, &path).unwrap();
        assert_eq!(look(&places, SinceBoot(1)), None);
    }

    #[test]
    fn host_whose_careen_host_died_reaches_its_cluster_no_more() {
        let (folder, places) = machine();
        let file = folder.path().join("run/careen/host-reached");
        let api = |text: &str, seconds: u64| {
            fs::write(&file, text).unwrap();
            let now = SinceBoot(0).plus_seconds(seconds);
            look(&places, now).unwrap().api
        };
        let since = SinceBoot(61_000);
        let reached = Api::Reached {
            since,
            version: None,
        };
        assert_eq!(api("61000 900000", 1199), reached);
        assert_eq!(api("61000 900000", 1200), Api::Away);
        for text in ["61000", "", "61000 soon", "soon 900000"] {
            assert_eq!(api(text, 1199), Api::Away, "{text:?}");
        }
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

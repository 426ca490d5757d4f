//! A drain whose cordon cannot be set.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use agent::cluster::{Cluster, SILENCE};
use agent::drain::{Drain, Machine, Running};
use upgrade::policy::{self, AtDeadline};
use upgrade::{Disposition, Reason};

/// A machine on which no pod runs.
struct Idle;

impl Machine for Idle {
    fn running(&self) -> Running<'_> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }
}

/// Nobody listens there.
const NOWHERE: &str = r"
apiVersion: v1
kind: Config
current-context: node
clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]
users: [{name: u, user: {token: x}}]
contexts: [{name: node, context: {cluster: c, user: u}}]
";

/// An operator who accepts that pods end with the reboot does not accept that new pods come to the
/// node and end too.
#[tokio::test(start_paused = true)]
async fn no_policy_goes_on_to_a_reboot_without_a_cordon() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubelet.conf");
    std::fs::write(&kubeconfig, NOWHERE).unwrap();
    let cluster = Cluster::new(&kubeconfig, SILENCE);
    for at_deadline in [AtDeadline::Abort, AtDeadline::Force, AtDeadline::Continue] {
        for (skip, spent) in [(false, 0), (true, 0), (false, 3600)] {
            let policy = policy::Drain {
                at_deadline,
                skip,
                ..policy::Drain::default()
            };
            let drain = Drain {
                cluster: &cluster,
                node: "n",
                id: &"u1".parse().unwrap(),
                policy: &policy,
                neighbours: &policy::Neighbours::default(),
                spent: Duration::from_secs(spent),
                machine: &Idle,
                volumes: &folder.path().join("volumes.json"),
                progress: &|_, _| (),
            };
            let Err(reason @ Reason::ApiAway { .. }) = drain.run().await else {
                panic!("{at_deadline:?}, skip {skip}, spent {spent} s: taken for drained");
            };
            assert_eq!(reason.disposition(), Disposition::Retry);
        }
    }
}

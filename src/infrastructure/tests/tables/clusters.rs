//! The decision on a cluster.

use infrastructure::{
    Cluster, ClusterAct, ClusterFacts, Domain, Endpoint, EndpointFrom, Host, Phase, Selector,
    Wanted, decide_cluster,
};

use crate::scene::{ID, claim, host};

struct Scene {
    cluster: Cluster,
    hosts: Vec<Host>,
    used: Vec<String>,
    machines: usize,
}

fn endpoint() -> Endpoint {
    Endpoint {
        host: "10.0.0.10".to_owned(),
        port: 6443,
    }
}

fn domain(name: &str) -> Domain {
    Domain {
        name: name.to_owned(),
        control_plane: Some(true),
        ..Domain::default()
    }
}

fn scene() -> Scene {
    Scene {
        cluster: Cluster {
            owner: Some("c".to_owned()),
            finalizer: true,
            endpoint: Some(endpoint()),
            ..Cluster::default()
        },
        hosts: Vec::new(),
        used: Vec::new(),
        machines: 0,
    }
}

fn from() -> Scene {
    scene().with(|s| {
        s.cluster.endpoint = None;
        s.cluster.endpoint_from = Some(EndpointFrom {
            host: "h".to_owned(),
            port: 6443,
        });
        let mut host = host("h");
        host.address = Some("10.0.0.10".to_owned());
        s.hosts = vec![host];
    })
}

fn deleted() -> Scene {
    scene().with(|s| s.cluster.deleting = true)
}

impl Scene {
    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn decide(&self) -> (Option<ClusterAct>, &'static str) {
        let hosts: Vec<&Host> = self.hosts.iter().collect();
        let decision = decide_cluster(&ClusterFacts {
            cluster: &self.cluster,
            hosts: &hosts,
            used_domains: &self.used,
            machines: self.machines,
        });
        (decision.act, decision.why.code())
    }
}

fn check(rows: Vec<(&str, Scene, Option<ClusterAct>, &str)>) {
    for (name, scene, act, why) in rows {
        assert_eq!(scene.decide(), (act, why), "{name}");
    }
}

#[test]
fn cluster_follows_the_table() {
    use ClusterAct::{AddFinalizer, Reserve, SetEndpoint, Show};
    check(vec![
        (
            "managed elsewhere",
            scene().with(|s| {
                s.cluster.managed_elsewhere = true;
                s.cluster.deleting = true;
            }),
            None,
            "ManagedElsewhere",
        ),
        (
            "paused",
            scene().with(|s| s.cluster.paused = Some("Cluster c".into())),
            None,
            "Paused",
        ),
        (
            "no owner",
            scene().with(|s| s.cluster.owner = None),
            None,
            "NoOwner",
        ),
        (
            "no finalizer",
            scene().with(|s| s.cluster.finalizer = false),
            Some(AddFinalizer),
            "Moving",
        ),
        (
            "no endpoint",
            scene().with(|s| s.cluster.endpoint = None),
            None,
            "EndpointUnknown",
        ),
        (
            "half an endpoint",
            scene().with(|s| s.cluster.endpoint.as_mut().unwrap().port = 0),
            None,
            "EndpointUnknown",
        ),
        (
            "another provider's endpoint",
            scene().with(|s| {
                s.cluster.endpoint = None;
                s.cluster.owners_endpoint = Some(endpoint());
            }),
            Some(Show(vec![])),
            "Moving",
        ),
        ("new", scene(), Some(Show(vec![])), "Moving"),
        (
            "provisioned",
            scene().with(|s| s.cluster.provisioned = true),
            None,
            "Provisioned",
        ),
        ("from a host", from(), Some(Reserve("h".into())), "Moving"),
        (
            "from its host",
            from().with(|s| s.hosts[0].reserved_for = Some("c".into())),
            Some(SetEndpoint(endpoint())),
            "Moving",
        ),
        (
            "from no host",
            from().with(|s| s.hosts.clear()),
            None,
            "EndpointHostMissing",
        ),
        (
            "from a host without an address",
            from().with(|s| s.hosts[0].address = None),
            None,
            "EndpointHostMissing",
        ),
        (
            "from another cluster's host",
            from().with(|s| s.hosts[0].reserved_for = Some("d".into())),
            None,
            "EndpointHostTaken",
        ),
        (
            "from a claimed host",
            from().with(|s| s.hosts[0].claim = Some(claim(ID))),
            None,
            "EndpointHostTaken",
        ),
        (
            "from a host that nobody let in",
            from().with(|s| s.hosts[0].approved = false),
            None,
            "EndpointHostTaken",
        ),
    ]);
}

#[test]
fn failure_domains_are_named_or_come_from_the_hosts() {
    let in_domains = |names: &[&str]| {
        let hosts: Vec<Host> = names
            .iter()
            .map(|name| Host {
                failure_domain: Some((*name).to_owned()),
                ..host(&format!("h-{name}"))
            })
            .collect();
        scene().with(|s| {
            s.hosts = hosts;
            s.cluster.domain_selector = Some(Selector::default());
            s.cluster.provisioned = true;
        })
    };
    let shown = |domains: &[&str]| {
        Some(ClusterAct::Show(
            domains.iter().map(|name| domain(name)).collect(),
        ))
    };
    check(vec![
        (
            "sorted",
            in_domains(&["b", "a", "b"]),
            shown(&["a", "b"]),
            "Moving",
        ),
        (
            "nobody asks",
            in_domains(&["a"]).with(|s| s.cluster.domain_selector = None),
            None,
            "Provisioned",
        ),
        (
            "named",
            in_domains(&["a"]).with(|s| s.cluster.domains = vec![domain("z")]),
            shown(&["z"]),
            "Moving",
        ),
        (
            "used and without hosts",
            in_domains(&["a"]).with(|s| {
                s.cluster.shown = vec![domain("a"), domain("gone")];
                s.used = vec!["gone".into()];
            }),
            None,
            "Provisioned",
        ),
        (
            "unused and without hosts",
            in_domains(&["a"]).with(|s| s.cluster.shown = vec![domain("a"), domain("gone")]),
            shown(&["a"]),
            "Moving",
        ),
        (
            "of a host that nobody let in",
            in_domains(&["a"]).with(|s| s.hosts[0].approved = false),
            None,
            "Provisioned",
        ),
    ]);
}

#[test]
fn deleted_cluster_waits_for_its_machines_and_hosts() {
    use ClusterAct::{RemoveFinalizer, Unreserve};
    let used = |phase, wanted| {
        let mut one = host("h");
        let mut theirs = claim(ID);
        theirs.wanted = wanted;
        (one.phase, one.claim, one.observed) = (phase, Some(theirs), Some(ID.to_owned()));
        one
    };
    check(vec![
        (
            "machines",
            deleted().with(|s| s.machines = 2),
            None,
            "MachinesLeft",
        ),
        (
            "a host that runs",
            deleted().with(|s| s.hosts = vec![used(Phase::Joined, Wanted::Joined)]),
            None,
            "HostsLeft",
        ),
        (
            "a host that cleans",
            deleted().with(|s| s.hosts = vec![used(Phase::Cleaning, Wanted::Released)]),
            Some(RemoveFinalizer),
            "Gone",
        ),
        (
            "a reserved host",
            deleted().with(|s| {
                s.hosts = vec![host("h")];
                s.hosts[0].reserved_for = Some("c".into());
            }),
            Some(Unreserve("h".into())),
            "Moving",
        ),
        ("nothing", deleted(), Some(RemoveFinalizer), "Gone"),
        (
            "gone",
            deleted().with(|s| s.cluster.finalizer = false),
            None,
            "Gone",
        ),
    ]);
}

//! Every message has the form of all messages of Careen.

#[path = "../../../upgrade/tests/form/mod.rs"]
mod form;

use infrastructure::{ClusterWhy, HostWhy, PoolWhy, Refused, Why, amount};

fn text(word: &str) -> String {
    format!("<{word}>")
}

fn of_machines() -> Vec<Why> {
    let (host, detail, reason) = (text("host"), text("why"), text("reason"));
    let h = || host.clone();
    vec![
        Why::Running,
        Why::Moving,
        Why::NoOwner,
        Why::Paused { what: text("what") },
        Why::NoCluster,
        Why::InfrastructureNotReady,
        Why::NoData,
        Why::BadData {
            detail: detail.clone(),
        },
        Why::NoHost {
            refused: Refused::default(),
        },
        Why::ImageFailing {
            image: text("image"),
            hosts: 3,
        },
        Why::Unobserved { host: h() },
        Why::Imaging {
            host: h(),
            image: text("image"),
        },
        Why::Joining { host: h() },
        Why::HostFailed {
            host: h(),
            reason: reason.clone(),
        },
        Why::JoinFailed { host: h(), reason },
        Why::JoinLate {
            host: h(),
            seconds: 1200,
        },
        Why::NodeNameTaken {
            node: text("node"),
            found: text("id"),
        },
        Why::HostTaken {
            host: h(),
            claim: text("claim"),
            found: text("claim"),
        },
        Why::HostReleased { host: h() },
        Why::HostGone { host: h() },
        Why::Fencing { host: h() },
        Why::Silent {
            host: h(),
            claim: text("claim"),
            silent: 200,
            needed: 600,
        },
        Why::LinkDown { host: h() },
        Why::NodeNotReady {
            host: h(),
            seconds: 200,
            needed: 600,
        },
        Why::ClusterAway { detail },
        Why::Braked {
            silent: 3,
            of: 10,
            place: text("place"),
        },
        Why::Released,
    ]
}

fn of_hosts() -> Vec<HostWhy> {
    let claim = || text("claim");
    vec![
        HostWhy::Free,
        HostWhy::InUse,
        HostWhy::Moving,
        HostWhy::Unapproved,
        HostWhy::NoRegistration {
            registration: text("name"),
        },
        HostWhy::OtherPrefix {
            prefix: text("prefix"),
        },
        HostWhy::RegistrationFull { most: 20 },
        HostWhy::Leaving,
        HostWhy::DeletedInUse { claim: claim() },
        HostWhy::MayBeOrphan { claim: claim() },
        HostWhy::Orphan { claim: claim() },
        HostWhy::OrphanDraining { claim: claim() },
        HostWhy::OrphanHeld {
            claim: claim(),
            by: text("pod"),
        },
        HostWhy::OrphanAway {
            claim: claim(),
            detail: text("why"),
        },
        HostWhy::OrphanPaused {
            claim: claim(),
            what: text("Node"),
        },
        HostWhy::ManyOrphans { orphans: 5, of: 20 },
        HostWhy::NotJudged,
    ]
}

fn of_clusters() -> Vec<ClusterWhy> {
    let host = || text("host");
    vec![
        ClusterWhy::Provisioned,
        ClusterWhy::Moving,
        ClusterWhy::NoOwner,
        ClusterWhy::ManagedElsewhere,
        ClusterWhy::Paused { what: text("what") },
        ClusterWhy::EndpointUnknown,
        ClusterWhy::EndpointHostMissing { host: host() },
        ClusterWhy::EndpointHostTaken { host: host() },
        ClusterWhy::MachinesLeft { machines: 2 },
        ClusterWhy::HostsLeft { hosts: 2 },
        ClusterWhy::Gone,
    ]
}

fn of_pools() -> Vec<PoolWhy> {
    let (name, detail) = (text("machine"), text("why"));
    vec![
        PoolWhy::NoOwner,
        PoolWhy::Paused { what: text("what") },
        PoolWhy::MachinePaused { what: text("what") },
        PoolWhy::LeftOut { machines: 2 },
        PoolWhy::Leaving { left: 2 },
        PoolWhy::Gone,
        PoolWhy::UpgradeFailed {
            name,
            detail: detail.clone(),
        },
        PoolWhy::NoImage { detail },
        PoolWhy::Unavailable {
            away: 2,
            allowed: 1,
            first: " (<machine>: InProgress)".to_owned(),
        },
        PoolWhy::Upgrading {
            machines: 1,
            first: String::new(),
        },
        PoolWhy::Joining {
            nodes: 1,
            wanted: 2,
            first: " (<machine>: NoHost)".to_owned(),
        },
        PoolWhy::Settled,
    ]
}

#[test]
fn every_message_has_the_form_what_detail_action() {
    let mut all: Vec<String> = of_machines().iter().map(ToString::to_string).collect();
    all.extend(of_hosts().iter().map(ToString::to_string));
    all.extend(of_clusters().iter().map(ToString::to_string));
    all.extend(of_pools().iter().map(ToString::to_string));
    all.extend(amount("much").map_err(|error| error.to_string()).err());
    for message in all {
        assert_eq!(form::fault(&message), None);
    }
}

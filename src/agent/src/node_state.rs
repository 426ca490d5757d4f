//! The API server and this agent's Node as last seen.

use std::sync::Arc;

use upgrade::keys::Stray;
use upgrade::observe::Check;
use upgrade::report::{IDLE, Status};
use upgrade::{
    Api, Asked, BootId, Observation, Pause, Phase, Reason, Record, SinceBoot, UpgradeId, Version,
    names,
};

use crate::cluster::seen::NodeSeen;
use crate::cluster::watch::{GONE, News};

/// What is known of the API server and the Node.
pub struct Link {
    /// The API server.
    pub api: Api,
    /// Why the server that the agent reaches does not report its version.
    pub unversioned: Option<String>,
    /// The request. The agent keeps what it knew while the server is unreachable.
    pub asked: Asked,
    /// Why no new upgrade may begin.
    pub paused: Option<Pause>,
    /// Why this node takes no request.
    pub opted_out: Option<String>,
    /// The keys on the Node that resemble Careen's.
    pub strays: Vec<Stray>,
    /// This agent's Node.
    pub node: Option<Arc<NodeSeen>>,
    /// How often the agent found the server again. The Node as listed then is not older than any
    /// earlier answer.
    pub listings: u64,
    /// The Node is older than this upgrade's last cordon, with respect to the cordon.
    cordon_to_be_seen: Option<String>,
    /// The time of the Node's last status from before the kubelet was restarted.
    said_before_restart: Option<String>,
}

impl Default for Link {
    fn default() -> Self {
        Self {
            api: Api::Away,
            unversioned: None,
            asked: Asked::Unknown,
            paused: None,
            opted_out: None,
            strays: Vec::new(),
            node: None,
            listings: 0,
            cordon_to_be_seen: None,
            said_before_restart: None,
        }
    }
}

impl Link {
    /// Processes news from the watch.
    pub fn take(&mut self, news: News, now: SinceBoot) {
        match news {
            News::Away(_) => self.api = Api::Away,
            News::Reached(version, node) => {
                self.listings = self.listings.saturating_add(1);
                self.see(node.map(Arc::from), now);
                self.reached(version, now);
            }
            News::Version(version) => self.reached(Some(version), now),
            News::Unversioned(why) => self.unversioned = Some(why),
            News::Node(node) => self.see(Some(Arc::from(node)), now),
            News::NoNode => self.see(None, now),
        }
    }

    fn see(&mut self, node: Option<Arc<NodeSeen>>, now: SinceBoot) {
        if let (None, Some(_), Api::Reached { since, .. }) = (&self.node, &node, &mut self.api) {
            // Checks that depend on the Node get their full time from here, as after an outage of
            // the server.
            *since = now;
        }
        // A deleted Node withdraws no request, because it may be registered again at any moment.
        self.asked = node
            .as_ref()
            .map_or(Asked::Unknown, |node| node.asked.clone());
        let keys = node.as_ref().map(|node| node.keys.clone());
        let keys = keys.unwrap_or_default();
        (self.paused, self.opted_out, self.strays) = (keys.pause, keys.opted_out, keys.strays);
        let ours = self.cordon_to_be_seen.as_deref();
        // The cordon is set, by any client. Or Careen set it and it is off again, which only its
        // mark distinguishes from a cordon that is still to come.
        let shows = |node: &Arc<NodeSeen>| {
            !node.schedulable || (ours.is_some() && node.cordoned_by.as_deref() == ours)
        };
        // A Node that is gone took its cordon with it. A Node registered in its place is another
        // Node.
        if node.as_ref().is_none_or(shows) {
            self.cordon_to_be_seen = None;
        }
        self.node = node;
    }

    /// Notes that the Node was just cordoned for this upgrade, by Careen or earlier. Until the
    /// watch shows the cordon, what it shows is older.
    pub fn cordoned(&mut self, id: &UpgradeId) {
        self.cordon_to_be_seen = Some(id.as_str().to_owned());
    }

    /// Whether pods may be scheduled to the Node, as far as is known. For a drained node, true
    /// means that somebody removed the cordon, either Careen's or an earlier one.
    #[must_use]
    pub fn is_schedulable(&self) -> bool {
        let node = self.node.as_ref();
        self.cordon_to_be_seen.is_none() && node.is_some_and(|node| node.schedulable)
    }

    /// Whether the Node is cordoned with the mark of this record's upgrade.
    #[must_use]
    pub fn is_cordoned_for(&self, record: &Record) -> bool {
        let node = self.node.as_ref().filter(|node| !node.cordon_mark_left);
        is_of(record, node.and_then(|node| node.cordoned_by.as_deref()))
    }

    /// Whether somebody removed the cordon of this record's upgrade and set their own. Pods may
    /// have started in between.
    #[must_use]
    pub fn is_cordoned_by_others(&self, record: &Record) -> bool {
        let node = self.node.as_ref().filter(|node| node.cordon_mark_left);
        let mark = node.and_then(|node| node.cordoned_by.as_deref());
        self.cordon_to_be_seen.is_none() && is_of(record, mark)
    }

    /// Whether load balancers exclude the Node with the mark of this record's upgrade.
    #[must_use]
    pub fn is_excluded_for(&self, record: &Record) -> bool {
        let node = self.node.as_ref();
        let node = node.filter(|node| !node.exclusion_mark_left);
        is_of(record, node.and_then(|node| node.excluded_by.as_deref()))
    }

    /// Whether the Node has a shield of Careen's, of any upgrade.
    #[must_use]
    pub fn is_shielded(&self) -> bool {
        self.node.as_ref().is_some_and(|node| node.shielded)
    }

    /// Whether one of Careen's marks no longer marks anything, if the Node is not older than
    /// Careen's last cordon.
    #[must_use]
    pub fn has_left_mark(&self) -> bool {
        let node = self.node.as_ref();
        let left = |node: &Arc<NodeSeen>| {
            node.cordon_mark_left || node.exclusion_mark_left || node.shield_mark_left
        };
        self.cordon_to_be_seen.is_none() && node.is_some_and(left)
    }

    /// Notes that the kubelet was just restarted. Until the new kubelet reports, the Node's status
    /// is that of the old one. Nothing changes that status for about 40 s, even if the new kubelet
    /// never starts (kubernetes, node-monitor-grace-period).
    pub fn kubelet_restarted(&mut self) {
        let node = self.node.as_ref();
        self.said_before_restart = node.and_then(|node| node.ready_said.clone());
    }

    fn reached(&mut self, version: Option<Version>, now: SinceBoot) {
        let since = match self.api {
            Api::Reached { since, .. } => since,
            Api::Away => now,
        };
        self.unversioned = None;
        self.api = Api::Reached { since, version };
    }

    /// What holds up an upgrade and only the API side knows: the upgrade waits before its
    /// deployment, and the version skew cannot be judged.
    #[must_use]
    pub fn hindrance(&self, record: &Record, seen: &Observation) -> Option<Reason> {
        let up = record.upgrade.as_ref()?;
        let stands =
            up.phase == Phase::Verified && seen.turn.running.is_none() && self.is_reached();
        let detail = self.unversioned.clone().filter(|_| stands)?;
        Some(Reason::ApiAway { detail })
    }

    /// Whether the Node reports that it was never asked. The rest of that report may be outdated.
    #[must_use]
    pub fn says_idle(&self) -> bool {
        let told = self
            .node
            .as_ref()
            .and_then(|node| node.answers.get(names::STATUS));
        let told: Option<Status> = told.and_then(|told| serde_json::from_str(told).ok());
        told.is_some_and(|told| told.phase == IDLE)
    }

    /// Whether the agent reaches the server.
    #[must_use]
    pub const fn is_reached(&self) -> bool {
        matches!(self.api, Api::Reached { .. })
    }

    /// The API server's version, as far as it is known and the server is reached.
    #[must_use]
    pub fn version_of_the_server(&self) -> Option<Version> {
        match &self.api {
            Api::Reached { version, .. } => version.clone(),
            Api::Away => None,
        }
    }

    /// The API server as a trial sees it. Without the Node, the server can say nothing of the new
    /// system, good or bad, as when it is unreachable. Somebody has deleted the Node, because the
    /// old system had one. A kubelet that was registered before does not register again until it is
    /// restarted (kubernetes 1.36, `registrationCompleted` in pkg/kubelet/kubelet_node_status.go;
    /// issue 71398).
    #[must_use]
    pub fn api_in_trial(&self) -> Api {
        match self.node {
            Some(_) => self.api.clone(),
            None => Api::Away,
        }
    }

    /// Whether the Node is Ready with the current boot. Through a reboot it stays Ready for a while
    /// (k8s-node-lifecycle grace).
    #[must_use]
    pub fn ready(&self, boot: &BootId) -> Check {
        match self.of_this_boot(boot) {
            Err(pending) => pending,
            Ok(node) if node.ready => Check::Pass,
            Ok(node) => Check::Fail(format!(
                "the kubelet reports the Node as not Ready: {}",
                node.unready
            )),
        }
    }

    /// Whether the kubelet of this boot is the image's.
    #[must_use]
    pub fn version(&self, boot: &BootId, record: &Record) -> Check {
        let facts = record.upgrade.as_ref().and_then(|up| up.facts.as_ref());
        let wanted = facts
            .and_then(|facts| facts.info.as_ref())
            .map(|info| info.kubernetes.to_string());
        match (self.of_this_boot(boot), wanted) {
            (Err(pending), _) => pending,
            (Ok(node), Some(wanted)) if node.kubelet_version != wanted => Check::Fail(format!(
                "the kubelet is {}, the image carries {wanted}",
                node.kubelet_version
            )),
            (Ok(_), Some(_)) => Check::Pass,
            (Ok(_), None) => Check::Pending("the image's version is not known".to_owned()),
        }
    }

    fn of_this_boot(&self, boot: &BootId) -> Result<&NodeSeen, Check> {
        let pending = |text: &str| Check::Pending(text.to_owned());
        if !self.is_reached() {
            return Err(pending("the API server is not reached"));
        }
        let node = self.node.as_deref().ok_or_else(|| pending(GONE))?;
        let before = self.said_before_restart.as_ref();
        if node.boot_id != boot.as_str() {
            Err(pending("the kubelet has not reported since this boot"))
        } else if before.is_some() && node.ready_said.as_ref() == before {
            Err(pending("the kubelet has not reported since its restart"))
        } else {
            Ok(node)
        }
    }
}

/// Whether this mark belongs to the record's upgrade.
fn is_of(record: &Record, mark: Option<&str>) -> bool {
    let up = record.upgrade.as_ref();
    mark.is_some() && mark == up.map(|up| up.id.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verified() -> Record {
        let request = upgrade::RawRequest::default();
        let commit = "a".repeat(64);
        let from = upgrade::Deployment {
            digest: commit.parse().unwrap(),
            serial: 0,
            stateroot: "os".to_owned(),
            bootcsum: commit,
            pinned: false,
            kept: false,
        };
        let target = "ostree:images:os".parse().unwrap();
        let mut up = upgrade::Upgrade::new("u1".parse().unwrap(), request, target, from);
        up.phase = Phase::Verified;
        Record {
            upgrade: Some(up),
            ..Record::default()
        }
    }

    fn seen() -> Observation {
        let booted = verified().upgrade.unwrap().from;
        Observation {
            machine: upgrade::Machine {
                deployments: Vec::new(),
                architecture: String::new(),
                ..upgrade::Machine::quiet(booted)
            },
            node: upgrade::NodeView::default(),
            turn: upgrade::Turn::quiet(upgrade::Home::Agent, "b007".parse().unwrap(), SinceBoot(0)),
        }
    }

    /// The Node, with this mark next to its cordon if there is one.
    fn node(mark: Option<&str>, cordoned: bool) -> News {
        let annotations = mark.map(|mark| serde_json::json!({ upgrade::names::CORDONED_BY: mark }));
        let node = serde_json::json!({
            "metadata": { "name": "n", "uid": "u", "annotations": annotations },
            "spec": { "unschedulable": cordoned },
        });
        let node: client::Node = serde_json::from_value(node).unwrap();
        News::Node(Box::new(node.into()))
    }

    #[test]
    fn a_cordon_of_others_under_our_mark_shows_that_ours_was_off() {
        let mut link = Link::default();
        let set_by = |manager: &str| {
            let News::Node(mut node) = node(Some("u1"), true) else {
                unreachable!()
            };
            node.cordon_mark_left = manager != "careen-agent";
            News::Node(node)
        };
        link.take(set_by("careen-agent"), SinceBoot(1));
        assert!(!link.is_cordoned_by_others(&verified()));
        link.take(set_by("kubectl"), SinceBoot(2));
        assert!(link.is_cordoned_by_others(&verified()));
        assert!(
            !link.is_cordoned_by_others(&Record::default()),
            "of a former one"
        );
    }

    #[test]
    fn a_cordon_is_missed_whoever_set_it_and_only_once_it_was_seen() {
        let sees = |link: &mut Link, mark, cordoned| {
            link.take(node(mark, cordoned), SinceBoot(1));
            link.is_schedulable()
        };
        let mut link = Link::default();
        assert!(!link.is_schedulable(), "nothing is known yet");
        link.cordoned(&"u1".parse().unwrap());
        assert!(!sees(&mut link, None, false), "the watch is behind");
        assert!(
            !sees(&mut link, Some("other"), false),
            "a former one's mark"
        );
        assert!(!sees(&mut link, Some("u1"), true));
        assert!(sees(&mut link, Some("u1"), false), "kubectl uncordon");
        link.cordoned(&"u1".parse().unwrap());
        assert!(!link.is_schedulable(), "the watch is behind our write");
        assert!(sees(&mut link, Some("u1"), false), "and again");
        assert!(!sees(&mut link, None, true), "somebody else's");
        assert!(
            sees(&mut link, None, false),
            "the person who set it has removed it"
        );
    }

    /// A kubelet has reported this boot.
    fn ready(boot: &str) -> News {
        ready_at(boot, None)
    }

    /// A kubelet has reported this boot, at this time.
    fn ready_at(boot: &str, time: Option<&str>) -> News {
        let ready =
            serde_json::json!({ "type": "Ready", "status": "True", "lastHeartbeatTime": time });
        let node = serde_json::json!({
            "metadata": { "name": "n", "uid": "u" },
            "status": {
                "nodeInfo": { "bootID": boot, "kubeletVersion": "v1.36.1" },
                "conditions": [ready],
            },
        });
        let node: client::Node = serde_json::from_value(node).unwrap();
        News::Node(Box::new(node.into()))
    }

    #[test]
    fn node_deleted_in_trial_stays_pending_as_if_the_api_is_away() {
        let (mut link, boot) = (Link::default(), seen().turn.boot);
        link.take(News::Reached(None, None), SinceBoot(1_000));
        link.take(ready("b007"), SinceBoot(2_000));
        assert_eq!(link.ready(&boot), Check::Pass);
        assert!(matches!(link.api_in_trial(), Api::Reached { .. }));
        link.take(News::NoNode, SinceBoot(3_000));
        assert_eq!(link.ready(&boot), Check::Pending(GONE.to_owned()));
        assert_eq!(link.api_in_trial(), Api::Away, "as if nobody could say");
        assert!(link.is_reached(), "and so it is told");
        link.take(News::Away("cut".to_owned()), SinceBoot(4_000));
        let away = "the API server is not reached".to_owned();
        assert_eq!(link.ready(&boot), Check::Pending(away));
    }

    #[test]
    fn readiness_from_before_the_kubelet_restart_is_ignored() {
        let (mut link, boot) = (Link::default(), seen().turn.boot);
        link.take(News::Reached(None, None), SinceBoot(1_000));
        let old = || ready_at("b007", Some("2026-11-27T10:00:00Z"));
        link.take(old(), SinceBoot(2_000));
        assert_eq!(link.ready(&boot), Check::Pass);
        link.kubelet_restarted();
        // Another client has changed the Node.
        link.take(old(), SinceBoot(3_000));
        let said = "the kubelet has not reported since its restart";
        assert_eq!(link.ready(&boot), Check::Pending(said.to_owned()));
        let version = link.version(&boot, &verified());
        assert_eq!(version, Check::Pending(said.to_owned()));
        let new = ready_at("b007", Some("2026-11-27T10:00:03Z"));
        link.take(new, SinceBoot(4_000));
        assert_eq!(link.ready(&boot), Check::Pass);
    }

    #[test]
    fn reregistered_node_restarts_its_time_since_reached() {
        let since = |link: &Link| match link.api_in_trial() {
            Api::Reached { since, .. } => Some(since),
            Api::Away => None,
        };
        let mut link = Link::default();
        link.take(News::Reached(None, None), SinceBoot(1_000));
        link.take(ready("b007"), SinceBoot(2_000));
        link.take(ready("b007"), SinceBoot(3_000));
        assert_eq!(since(&link), Some(SinceBoot(2_000)));
        link.take(News::NoNode, SinceBoot(4_000));
        link.take(ready("b007"), SinceBoot(900_000));
        assert_eq!(since(&link), Some(SinceBoot(900_000)));
    }

    #[test]
    fn node_reregistered_after_the_cordon_is_schedulable() {
        let mut link = Link::default();
        link.cordoned(&"u1".parse().unwrap());
        link.take(News::NoNode, SinceBoot(1));
        link.take(node(None, false), SinceBoot(2));
        assert!(link.is_schedulable());
    }

    #[test]
    fn restarted_agent_trusts_the_first_cordon_state_it_sees() {
        let mut link = Link::default();
        link.take(node(None, false), SinceBoot(1));
        assert!(link.is_schedulable());
    }

    #[test]
    fn cordon_is_own_only_with_the_mark_of_the_recorded_upgrade() {
        let mut link = Link::default();
        let mut own = |mark, cordoned| {
            link.take(node(mark, cordoned), SinceBoot(1));
            link.is_cordoned_for(&verified())
        };
        assert!(own(Some("u1"), true));
        assert!(!own(Some("u1"), false), "kubectl uncordon leaves the mark");
        assert!(!own(Some("u0"), true), "a former upgrade's");
        assert!(!own(None, true), "a person's");
        assert!(!link.is_cordoned_for(&Record::default()));
    }

    #[test]
    fn a_mark_is_left_once_its_cordon_was_seen_and_is_off() {
        let mut link = Link::default();
        let mut left = |mark, cordoned| {
            link.take(node(mark, cordoned), SinceBoot(1));
            link.has_left_mark()
        };
        assert!(!left(Some("u1"), true));
        assert!(left(Some("u1"), false), "kubectl uncordon leaves the mark");
        assert!(left(Some("u0"), false), "of whichever upgrade");
        assert!(!left(None, false));
    }

    #[test]
    fn a_mark_is_not_left_while_our_cordon_is_yet_to_be_seen() {
        let mut link = Link::default();
        link.take(node(Some("u0"), false), SinceBoot(1));
        link.cordoned(&"u1".parse().unwrap());
        assert!(!link.has_left_mark(), "the watch is behind our write");
    }

    #[test]
    fn a_label_that_somebody_takes_away_leaves_a_mark() {
        let mut link = Link::default();
        link.take(excluded(Some("u1"), true), SinceBoot(1));
        assert!(!link.has_left_mark());
        link.take(excluded(Some("u1"), false), SinceBoot(2));
        assert!(link.has_left_mark());
    }

    /// The Node with this label and mark for load balancers.
    fn excluded(mark: Option<&str>, label: bool) -> News {
        let annotations = mark.map(|mark| serde_json::json!({ upgrade::names::EXCLUDED_BY: mark }));
        let labels = label.then(|| serde_json::json!({ upgrade::names::EXCLUDED: "true" }));
        let node = serde_json::json!({
            "metadata": { "name": "n", "uid": "u", "annotations": annotations, "labels": labels },
        });
        let node: client::Node = serde_json::from_value(node).unwrap();
        News::Node(Box::new(node.into()))
    }

    #[test]
    fn label_is_own_only_with_the_mark_of_the_recorded_upgrade() {
        let mut link = Link::default();
        let mut own = |mark, label| {
            link.take(excluded(mark, label), SinceBoot(1));
            link.is_excluded_for(&verified())
        };
        assert!(own(Some("u1"), true));
        assert!(!own(Some("u1"), false), "somebody took the label away");
        assert!(!own(Some("u0"), true), "a former upgrade's");
        assert!(!own(None, true), "a person's, or kept by one");
        assert!(!link.is_excluded_for(&Record::default()));
    }

    #[test]
    fn refused_version_hinders_the_deploy_until_it_is_known() {
        let mut link = Link::default();
        link.take(News::Reached(None, None), SinceBoot(1_000));
        link.take(News::Unversioned("403".to_owned()), SinceBoot(1_000));
        let why = link.hindrance(&verified(), &seen()).unwrap();
        assert!(why.to_string().contains("403"), "{why}");
        let version: Version = "v1.35.4".parse().unwrap();
        link.take(News::Version(version), SinceBoot(9_000));
        assert_eq!(link.hindrance(&verified(), &seen()), None);
    }

    #[test]
    fn late_server_version_keeps_the_time_since_reached() {
        let mut link = Link::default();
        let version: Version = "v1.35.4".parse().unwrap();
        link.take(News::Reached(None, None), SinceBoot(1_000));
        link.take(News::Version(version.clone()), SinceBoot(9_000));
        let reached = Api::Reached {
            since: SinceBoot(1_000),
            version: Some(version),
        };
        assert_eq!(link.api, reached);
    }
}

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
mod tests;

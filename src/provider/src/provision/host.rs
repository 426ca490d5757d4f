//! One look at a host: read, decide, write, until nothing is due.

use infrastructure::{
    Holder, Host, HostAct, HostDecision, HostFacts, HostWhy, Node, Phase, Registration, tend,
};
use k8s_openapi::jiff::Timestamp;
use kube::Resource;
use serde_json::json;

use super::drain::Found;
use super::work::Provision;
use super::{accounts, facts, pauses};
use crate::events::Happened;
use crate::kinds::{
    CareenHost, CareenMachine, FORCE_RELEASE, HostRegistration, ORPHAN, ORPHAN_SEEN,
};
use crate::machines::Key;
use crate::writes::{WriteError, provision as write};

/// How many writes one look makes.
const WRITES: usize = 8;

struct Read {
    object: CareenHost,
    host: Host,
    source: Option<HostRegistration>,
    registration: Option<Registration>,
    has_account: bool,
    handed_over: Option<i64>,
    holder: Holder,
    paused: bool,
    node: Option<Node>,
    left_alone: Option<String>,
}

impl Provision {
    /// Looks at one host. Returns after how many seconds to look again.
    pub(super) async fn look_at_host(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        for _ in 0..WRITES {
            let Some(read) = self.read_host(key).await? else {
                return Ok(None);
            };
            let decision = self.decide_host(key, &read);
            let Some(act) = &decision.act else {
                self.tell(&read.object, &decision);
                return Ok(decision.again);
            };
            tracing::debug!(host = %key, "{act:?}");
            self.perform_for_host(key, &read, act).await?;
            self.tell(&read.object, &decision);
        }
        Ok(Some(1))
    }

    async fn read_host(&self, key: &Key) -> Result<Option<Read>, WriteError> {
        let space = &*key.namespace;
        let Some(object) = self.read(space, &key.name).await? else {
            self.by_host.forget(key);
            self.spans.forget_host(key);
            return Ok(None);
        };
        let host = self.inventory.with_lease(space, facts::host(&object));
        let source = if host.approved {
            None
        } else {
            self.read(space, &host.registration).await?
        };
        let let_in = self.inventory.look(space, |hosts| {
            let theirs = hosts
                .iter()
                .filter(|other| other.registration == host.registration);
            theirs.filter(|other| other.approved).count()
        });
        let handed_over = self.handed_over(key, &host).await?;
        let has_account = host.approved && accounts::exists(&self.client, &object).await?;
        let (holder, paused) = self.holder(space, &host).await?;
        let node = match holder == Holder::Nobody && host.orphan.is_some() {
            true if self.policy.release_orphans => Some(self.node_of_claim(space, &host).await?),
            true | false => None,
        };
        let on_node = node.as_ref().and_then(Found::left_alone);
        Ok(Some(Read {
            left_alone: pauses::hold(object.meta(), "CareenHost", false).or(on_node),
            registration: source
                .as_ref()
                .map(|source| facts::registration(source, let_in)),
            has_account,
            handed_over,
            holder,
            paused,
            node: node.map(|found| found.node),
            object,
            host,
            source,
        }))
    }

    /// Who has the claim of a host, and whether the Cluster of the claim is paused. The name in the
    /// claim counts. Without a claim every machine of the namespace is asked for.
    async fn holder(&self, space: &str, host: &Host) -> Result<(Holder, bool), WriteError> {
        let joined = host
            .observed
            .as_ref()
            .filter(|_| host.phase == Phase::Joined);
        let (name, id, cluster) = match (&host.claim, joined) {
            (Some(claim), _) => (Some(claim.machine.clone()), &claim.id, Some(&claim.cluster)),
            (None, Some(id)) => (None, id, None),
            (None, None) => return Ok((Holder::Unread, false)),
        };
        let named = name.filter(|name| !name.is_empty());
        let of_it = |known: &(String, String)| known.0 == host.name && known.1 == *id;
        let known = || {
            let found = self.inventory.which(|key, known| {
                *key.namespace == *space && known.host.as_ref().is_some_and(of_it)
            });
            found.first().map(|key| key.name.to_string())
        };
        let Some(name) = named.or_else(known) else {
            return Ok((Holder::Nobody, false));
        };
        let machine: Option<CareenMachine> = self.read(space, &name).await?;
        let has = machine.and_then(|machine| machine.spec.host_ref);
        let holder = match has.is_some_and(|has| has.name == host.name && has.claim == *id) {
            true => Holder::Machine,
            false => Holder::Nobody,
        };
        Ok((holder, self.is_paused(space, cluster).await?))
    }

    async fn is_paused(&self, space: &str, cluster: Option<&String>) -> Result<bool, WriteError> {
        let name = cluster.filter(|name| !name.is_empty()).cloned();
        let cluster = self.read_core(space, "Cluster", name).await?;
        Ok(cluster.as_ref().and_then(pauses::paused_cluster).is_some())
    }

    fn decide_host(&self, key: &Key, read: &Read) -> HostDecision {
        let orphans = self.inventory.look(&key.namespace, |hosts| {
            let named = hosts
                .iter()
                .filter(|host| host.orphan_seen.is_some())
                .count();
            let used = hosts.iter().filter(|host| host.claim.is_some()).count();
            (named, used)
        });
        let now = self.now();
        tend(&HostFacts {
            now,
            host: &read.host,
            word_since: self.by_host.word_since(key, &read.host, now),
            registration: read.registration.as_ref(),
            has_account: read.has_account,
            handed_over: read.handed_over,
            renewed_at: self.inventory.renewed_at(key),
            holder: read.holder,
            paused: read.paused,
            leads_for: self.leads_for(),
            orphans,
            node: read.node.as_ref(),
            left_alone: read.left_alone.as_deref(),
            pods: self.by_host.pods(key, &read.host, now).as_ref(),
            policy: &self.policy,
        })
    }

    async fn perform_for_host(
        &self,
        key: &Key,
        read: &Read,
        act: &HostAct,
    ) -> Result<(), WriteError> {
        let (client, object) = (&self.client, &read.object);
        let spec = match act {
            HostAct::Approve => return self.approve(object, read.source.as_ref()).await,
            HostAct::AddFinalizer | HostAct::RemoveFinalizer => {
                return write::finalizer(client, object, *act == HostAct::AddFinalizer).await;
            }
            HostAct::MakeAccount => return accounts::make(client, object).await,
            HostAct::Drain => return self.drain(key, &read.host).await,
            HostAct::HandOver => return self.hand_over(key, object).await,
            HostAct::EndHandover => {
                let secret = object.spec.handover.as_deref().unwrap_or_default();
                return accounts::end_handover(client, secret).await;
            }
            HostAct::RemoveClaim { cordon } => {
                let cordoned = object.spec.cordoned || *cordon;
                let notes = json!({ ORPHAN: null, ORPHAN_SEEN: null, FORCE_RELEASE: null });
                json!({ "metadata": { "annotations": notes }, "spec": { "claim": null, "cordoned": cordoned } })
            }
            HostAct::Release => json!({ "spec": { "claim": { "wanted": "Released" } } }),
            HostAct::PutOrder(claim) => json!({ "spec": { "claim": claim } }),
            HostAct::MarkOrphan(id) => {
                let seen = format!("{id} {}", Timestamp::now());
                // A word from when a machine had the host was not about an orphan.
                let notes = json!({ ORPHAN_SEEN: seen, FORCE_RELEASE: null });
                json!({ "metadata": { "annotations": notes } })
            }
            HostAct::UnmarkOrphan => {
                json!({ "metadata": { "annotations": { ORPHAN: null, ORPHAN_SEEN: null } } })
            }
            HostAct::ForgetWord => {
                json!({ "metadata": { "annotations": { FORCE_RELEASE: null } } })
            }
            HostAct::NameOrphan(id) => json!({
                "metadata": { "annotations": { ORPHAN: id } }, "spec": { "cordoned": true },
            }),
        };
        write::change(client, object, spec).await
    }

    /// Publishes an Event about an orphan.
    fn tell(&self, host: &CareenHost, decision: &HostDecision) {
        if is_news(decision) {
            let (reason, note) = (decision.why.code(), decision.why.to_string());
            self.world.happened(Happened::to(host, reason, note));
        }
    }
}

/// Whether it is worth an Event: what happens to an orphan, and what holds it.
const fn is_news(decision: &HostDecision) -> bool {
    match decision.why {
        HostWhy::Orphan { .. } | HostWhy::OrphanDraining { .. } => decision.act.is_some(),
        HostWhy::OrphanHeld { .. }
        | HostWhy::OrphanAway { .. }
        | HostWhy::OrphanPaused { .. }
        | HostWhy::ManyOrphans { .. } => true,
        HostWhy::Free
        | HostWhy::InUse
        | HostWhy::Moving
        | HostWhy::Unapproved
        | HostWhy::NoRegistration { .. }
        | HostWhy::OtherPrefix { .. }
        | HostWhy::RegistrationFull { .. }
        | HostWhy::Leaving
        | HostWhy::DeletedInUse { .. }
        | HostWhy::MayBeOrphan { .. }
        | HostWhy::NotJudged => false,
    }
}

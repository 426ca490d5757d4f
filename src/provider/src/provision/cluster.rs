//! One look at a cluster: read, decide, write, until nothing is due.

use infrastructure::{
    ClusterAct, ClusterDecision, ClusterFacts, ClusterWhy, Domain, Host, Phase, decide_cluster,
};
use kube::ResourceExt;
use serde_json::json;

use super::conditions::conditions;
use super::work::Provision;
use super::{facts, wire};
use crate::kinds::{CareenCluster, CareenHost, HostCounts};
use crate::machines::Key;
use crate::writes::{WriteError, provision as write};

/// How many writes one look makes.
const WRITES: usize = 6;

struct Read {
    object: CareenCluster,
    owner: Option<wire::Cluster>,
}

impl Provision {
    /// Looks at one cluster.
    pub(super) async fn look_at_cluster(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        for _ in 0..WRITES {
            let space = &*key.namespace;
            let Some(object) = self.read::<CareenCluster>(space, &key.name).await? else {
                return Ok(None);
            };
            let owner = facts::owner_of(&object.metadata, "Cluster");
            let owner = self.read_core(space, "Cluster", owner).await?;
            let read = Read { object, owner };
            let decision = self.decide_cluster(space, &read);
            let Some(act) = &decision.act else {
                self.report_cluster(space, &read, &decision).await?;
                return Ok(None);
            };
            tracing::debug!(cluster = %key, "{act:?}");
            self.perform_for_cluster(space, &read, act).await?;
        }
        Ok(Some(1))
    }

    fn decide_cluster(&self, space: &str, read: &Read) -> ClusterDecision {
        let cluster = facts::cluster(&read.object, read.owner.as_ref());
        let name = facts::cluster_of(&read.object.metadata).or_else(|| cluster.owner.clone());
        let machines = self.inventory.which(|key, known| {
            *key.namespace == *space && known.cluster.is_some() && known.cluster == name
        });
        let used = |hosts: &[&Host]| -> Vec<String> {
            let theirs = hosts.iter().filter(|host| {
                let claim = host.claim.as_ref();
                claim.is_some_and(|claim| Some(&claim.cluster) == name.as_ref())
            });
            theirs
                .filter_map(|host| host.failure_domain.clone())
                .collect()
        };
        self.inventory.look(space, |hosts| {
            decide_cluster(&ClusterFacts {
                cluster: &cluster,
                hosts,
                used_domains: &used(hosts),
                machines: machines.len(),
            })
        })
    }

    async fn perform_for_cluster(
        &self,
        space: &str,
        read: &Read,
        act: &ClusterAct,
    ) -> Result<(), WriteError> {
        let (client, object) = (&self.client, &read.object);
        match act {
            ClusterAct::AddFinalizer => write::finalizer(client, object, true).await,
            ClusterAct::RemoveFinalizer => write::finalizer(client, object, false).await,
            ClusterAct::SetEndpoint(endpoint) => {
                let change = json!({ "spec": { "controlPlaneEndpoint": endpoint } });
                write::change(client, object, change).await
            }
            ClusterAct::Show(domains) => self.show(read, domains).await,
            ClusterAct::Reserve(host) => {
                let owner = read.owner.as_ref().map(ResourceExt::name_any);
                self.reserve(space, host, owner.as_deref()).await
            }
            ClusterAct::Unreserve(host) => self.reserve(space, host, None).await,
        }
    }

    async fn show(&self, read: &Read, domains: &[Domain]) -> Result<(), WriteError> {
        // An empty list is not valid, by the contract.
        let domains = Some(domains).filter(|domains| !domains.is_empty());
        let change =
            json!({ "initialization": { "provisioned": true }, "failureDomains": domains });
        write::change_status(&self.client, &read.object, change).await
    }

    async fn reserve(
        &self,
        space: &str,
        host: &str,
        owner: Option<&str>,
    ) -> Result<(), WriteError> {
        let Some(object) = self.read::<CareenHost>(space, host).await? else {
            return Err(WriteError::Missing);
        };
        let is_free = object.spec.reserved_for.is_none() && object.spec.claim.is_none();
        if owner.is_some() && !is_free {
            return Err(WriteError::Conflict);
        }
        let change = json!({ "spec": { "reservedFor": owner } });
        write::change(&self.client, &object, change).await
    }

    async fn report_cluster(
        &self,
        space: &str,
        read: &Read,
        decision: &ClusterDecision,
    ) -> Result<(), WriteError> {
        if matches!(
            decision.why,
            ClusterWhy::ManagedElsewhere | ClusterWhy::Gone
        ) {
            return Ok(());
        }
        let status = read.object.status.clone().unwrap_or_default();
        let ready = decision.why == ClusterWhy::Provisioned;
        let is_paused = matches!(decision.why, ClusterWhy::Paused { .. });
        let said = [("Ready", ready.into()), ("Paused", is_paused.into())];
        let new = conditions(
            &status.conditions,
            &said,
            (decision.why.code(), &decision.why.to_string()),
        );
        let hosts = self.count(
            space,
            read.owner.as_ref().map(ResourceExt::name_any).as_deref(),
        );
        if new == status.conditions && (is_paused || status.hosts.as_ref() == Some(&hosts)) {
            return Ok(());
        }
        let change = json!({ "conditions": new, "hosts": hosts });
        write::change_status(&self.client, &read.object, change).await
    }

    fn count(&self, space: &str, cluster: Option<&str>) -> HostCounts {
        let (now, alive) = (self.now(), self.policy.alive);
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        self.inventory.look(space, |hosts| {
            let count =
                |is: &dyn Fn(&Host) -> bool| number(hosts.iter().filter(|host| is(host)).count());
            let of_it = |host: &Host| {
                let claim = host.claim.as_ref().map(|claim| claim.cluster.as_str());
                claim.is_some() && claim == cluster
            };
            HostCounts {
                available: count(&|host| {
                    host.phase == Phase::Available
                        && host.claim.is_none()
                        && host.approved
                        && !host.cordoned
                        && host.is_alive(now, alive)
                }),
                claimed: count(&of_it),
                lost: count(&|host| {
                    of_it(host) && host.claim.as_ref().is_some_and(|claim| claim.lost)
                }),
            }
        })
    }
}

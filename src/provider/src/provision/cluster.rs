//! One look at a cluster: read, decide, write, until nothing is due.

use infrastructure::{
    ClusterAct, ClusterDecision, ClusterFacts, ClusterWhy, Domain, Host, Phase, Word,
    decide_cluster,
};
use kube::ResourceExt;
use kube::api::Api;
use serde_json::json;

use super::conditions::conditions;
use super::work::Provision;
use super::{facts, wire};
use crate::clock::now;
use crate::kinds::{CareenCluster, CareenHost, FINALIZER, HostCounts};
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
            let clusters: Api<CareenCluster> = Api::namespaced(self.client.clone(), space);
            let Some(object) = write::read(&clusters, &key.name).await? else {
                return Ok(None);
            };
            let owner = match facts::owner_of(&object.metadata, "Cluster") {
                Some(name) => write::read(&self.core(space, "Cluster"), &name).await?,
                None => None,
            };
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
            ClusterAct::AddFinalizer => {
                write::finalizer(client, object, FINALIZER, true).await?;
            }
            ClusterAct::RemoveFinalizer => {
                write::finalizer(client, object, FINALIZER, false).await?;
            }
            ClusterAct::SetEndpoint(endpoint) => {
                let change = json!({ "spec": { "controlPlaneEndpoint": endpoint } });
                write::change(client, object, change).await?;
            }
            ClusterAct::Show(domains) => self.show(read, domains).await?,
            ClusterAct::Reserve(host) => {
                let owner = read.owner.as_ref().map(ResourceExt::name_any);
                self.reserve(space, host, owner.as_deref()).await?;
            }
            ClusterAct::Unreserve(host) => self.reserve(space, host, None).await?,
        }
        Ok(())
    }

    async fn show(&self, read: &Read, domains: &[Domain]) -> Result<(), WriteError> {
        // An empty list is not valid, by the contract.
        let domains = Some(domains).filter(|domains| !domains.is_empty());
        let change =
            json!({ "initialization": { "provisioned": true }, "failureDomains": domains });
        write::change_status(&self.client, &read.object, change)
            .await
            .map(drop)
    }

    async fn reserve(
        &self,
        space: &str,
        host: &str,
        owner: Option<&str>,
    ) -> Result<(), WriteError> {
        let hosts: Api<CareenHost> = Api::namespaced(self.client.clone(), space);
        let Some(object) = write::read(&hosts, host).await? else {
            return Err(WriteError::Missing);
        };
        let is_free = object.spec.reserved_for.is_none() && object.spec.claim.is_none();
        if owner.is_some() && !is_free {
            return Err(WriteError::Conflict);
        }
        let change = json!({ "spec": { "reservedFor": owner } });
        write::change(&self.client, &object, change).await.map(drop)
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
        let word = |holds: bool| if holds { Word::True } else { Word::False };
        let ready = word(decision.why == ClusterWhy::Provisioned);
        let paused = word(matches!(decision.why, ClusterWhy::Paused { .. }));
        let said = [("Ready", ready), ("Paused", paused)];
        let new = conditions(
            &status.conditions,
            &said,
            (decision.why.code(), &decision.why.to_string()),
        );
        let hosts = self.count(
            space,
            read.owner.as_ref().map(ResourceExt::name_any).as_deref(),
        );
        let is_paused = paused == Word::True;
        if new == status.conditions && (is_paused || status.hosts.as_ref() == Some(&hosts)) {
            return Ok(());
        }
        let change = json!({ "conditions": new, "hosts": hosts });
        write::change_status(&self.client, &read.object, change)
            .await
            .map(drop)
    }

    fn count(&self, space: &str, cluster: Option<&str>) -> HostCounts {
        let (now, alive) = (now(), self.policy.alive);
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

//! One look at a machine: read, decide, write, until nothing is due.

use std::time::Instant;

use infrastructure::{
    Act, Braked, Data, Decision, Facts, Failed, Held, Host, HostRef, Machine, Node, OwnerCluster,
    Why, brake, decide, words,
};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use kube::api::Api;
use serde_json::{Value, json};

use super::conditions::conditions;
use super::work::Provision;
use super::{accounts, facts, id, wire};
use crate::catalogue::{For, choose};
use crate::clock::now;
use crate::kinds::{
    Address, BOOTSTRAP, CareenCluster, CareenHost, CareenMachine, CareenMachinePool,
    CareenMachineStatus, FINALIZER, ShownHost, TRIED,
};
use crate::machines::Key;
use crate::metrics::Operation;
use crate::writes::{WriteError, provision as write};

/// The addresses of a provisioned machine. After `clusterctl move` its host is heard later.
fn addresses(read: &Read, status: &CareenMachineStatus) -> Vec<Address> {
    let host = read.host.as_ref().and_then(|host| host.status.clone());
    let said = host.map(|host| host.addresses).unwrap_or_default();
    if read.machine.provisioned && !said.is_empty() {
        return said;
    }
    status.addresses.clone()
}

/// How many writes one look makes. A claim takes fewer. The rest is for the next look.
const WRITES: usize = 12;

/// What a machine belongs to. It is read once in a look: no write states its version.
#[derive(Clone)]
struct Parents {
    owner: Option<wire::Machine>,
    cluster: Option<wire::Cluster>,
    ours: Option<CareenCluster>,
}

/// Everything that one decision is based on, read from the API server.
struct Read {
    object: CareenMachine,
    owner: Option<wire::Machine>,
    host: Option<CareenHost>,
    machine: Machine,
    seen: Option<Host>,
    of: Option<OwnerCluster>,
    node: Node,
    data: Data,
    bootstrap: Option<Secret>,
    held: Held,
}

impl Provision {
    /// Looks at one machine. Returns after how many seconds to look again.
    pub(super) async fn look_at_machine(&self, key: &Key) -> Result<Option<u64>, WriteError> {
        let mut parents = None;
        for _ in 0..WRITES {
            let Some(read) = self.read_machine(key, &mut parents).await? else {
                self.spans.forget_machine(key);
                return Ok(None);
            };
            let decision = self.decide_machine(&read);
            self.measure(key, &read, &decision);
            let Some(act) = &decision.act else {
                self.report_machine(&read, &decision).await?;
                return Ok(decision.again);
            };
            tracing::debug!(machine = %key, "{act:?}");
            self.perform(&read, act).await?;
            if matches!(act, Act::PutClaim(_))
                && let Some(time) = self.spans.claim_ends(key, Instant::now())
            {
                self.world.metrics.operations().took(Operation::Claim, time);
            }
        }
        Ok(Some(1))
    }

    /// A machine waits for a host from the moment it could have one.
    fn measure(&self, key: &Key, read: &Read, decision: &Decision) {
        let waits = matches!(decision.why, Why::NoHost { .. } | Why::ImageFailing { .. });
        let begins = waits || matches!(decision.act, Some(Act::SetHost(_)));
        if begins && read.machine.host.is_none() {
            self.spans.claim_begins(key, Instant::now());
        }
        if self.spans.is_new_trouble(key, &decision.why) {
            self.world.metrics.operations().trouble(&decision.why);
        }
    }

    async fn read_machine(
        &self,
        key: &Key,
        parents: &mut Option<Parents>,
    ) -> Result<Option<Read>, WriteError> {
        let space = &*key.namespace;
        let machines: Api<CareenMachine> = Api::namespaced(self.client.clone(), space);
        let Some(object) = write::read(&machines, &key.name).await? else {
            return Ok(None);
        };
        let known = match parents {
            Some(known) => known,
            None => parents.insert(self.parents(space, &object).await?),
        };
        let Parents {
            owner,
            cluster,
            ours,
        } = known.clone();
        let host = self.host_of(space, object.spec.host_ref.as_ref()).await?;
        let machine = facts::machine(&object, owner.as_ref(), cluster.as_ref());
        let seen = host.as_ref().map(|host| {
            let host = facts::host(host);
            self.inventory.with_lease(space, host)
        });
        let mut read = Read {
            of: cluster
                .as_ref()
                .map(|one| facts::owner_cluster(one, ours.as_ref())),
            node: self.node(
                space,
                &machine,
                owner.as_ref(),
                seen.as_ref(),
                cluster.as_ref(),
            ),
            data: Data::Unread,
            bootstrap: None,
            held: Held::Unread,
            object,
            owner,
            host,
            machine,
            seen,
        };
        self.read_secrets(space, &mut read).await?;
        Ok(Some(read))
    }

    async fn parents(&self, space: &str, object: &CareenMachine) -> Result<Parents, WriteError> {
        let owner = match facts::owner_of(&object.metadata, "Machine") {
            Some(name) => write::read(&self.core(space, "Machine"), &name).await?,
            None => None,
        };
        let owner = match owner {
            Some(owner) => Some(self.as_its_pool_says(space, object, owner).await?),
            None => None,
        };
        let cluster = self.cluster_of(space, object, owner.as_ref()).await?;
        let ours = match &cluster {
            Some(cluster) => self.our_cluster(cluster).await?,
            None => None,
        };
        Ok(Parents {
            owner,
            cluster,
            ours,
        })
    }

    /// Core gives the Machines of a pool no bootstrap data, and the kubelet's version. The
    /// MachinePool has both.
    async fn as_its_pool_says(
        &self,
        space: &str,
        object: &CareenMachine,
        mut owner: wire::Machine,
    ) -> Result<wire::Machine, WriteError> {
        let Some(pool) = facts::pool_of(&object.metadata) else {
            return Ok(owner);
        };
        let pools: Api<CareenMachinePool> = Api::namespaced(self.client.clone(), space);
        let pool = write::read(&pools, &pool).await?;
        let of = pool.and_then(|pool| facts::owner_of(&pool.metadata, "MachinePool"));
        let Some(of) = of else { return Ok(owner) };
        let of: Option<wire::MachinePool> =
            write::read(&self.core(space, "MachinePool"), &of).await?;
        if let Some(of) = of {
            owner.spec.version = of.spec.template.spec.version;
            owner.spec.bootstrap = of.spec.template.spec.bootstrap;
            owner.spec.domains_of_pool = of.spec.failure_domains;
        }
        Ok(owner)
    }

    async fn cluster_of(
        &self,
        space: &str,
        object: &CareenMachine,
        owner: Option<&wire::Machine>,
    ) -> Result<Option<wire::Cluster>, WriteError> {
        let of_owner = owner.map(|owner| owner.spec.cluster_name.clone());
        match facts::cluster_of(&object.metadata).or(of_owner) {
            Some(name) => write::read(&self.core(space, "Cluster"), &name).await,
            None => Ok(None),
        }
    }

    /// The CareenCluster of a Cluster, if it has one.
    async fn our_cluster(
        &self,
        cluster: &wire::Cluster,
    ) -> Result<Option<CareenCluster>, WriteError> {
        let reference = &cluster.spec.infrastructure_ref;
        if reference.kind != "CareenCluster" {
            return Ok(None);
        }
        let space = cluster.namespace().unwrap_or_default();
        let api: Api<CareenCluster> = Api::namespaced(self.client.clone(), &space);
        write::read(&api, &reference.name).await
    }

    async fn host_of(
        &self,
        space: &str,
        named: Option<&HostRef>,
    ) -> Result<Option<CareenHost>, WriteError> {
        let Some(named) = named else { return Ok(None) };
        let hosts: Api<CareenHost> = Api::namespaced(self.client.clone(), space);
        write::read(&hosts, &named.name).await
    }

    /// Secrets are read only when a decision needs them: the bootstrap data while the host waits
    /// for them, the host's own Secret once it may hold some.
    async fn read_secrets(&self, space: &str, read: &mut Read) -> Result<(), WriteError> {
        let Some(named) = &read.machine.host else {
            return Ok(());
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), space);
        if named.committed && (!read.machine.provisioned || read.machine.deleting) {
            let secret = write::read(&secrets, &accounts::name(&named.name)).await?;
            read.held = facts::held(secret.as_ref());
        }
        let waits = read.seen.as_ref().is_some_and(|host| {
            host.observes(&named.claim) && host.phase == infrastructure::Phase::Joining
        });
        let source = read
            .owner
            .as_ref()
            .and_then(|owner| owner.spec.bootstrap.data_secret_name.clone());
        if let Some(source) = source.filter(|_| waits && !read.machine.deleting) {
            read.bootstrap = write::read(&secrets, &source).await?;
            read.data = facts::data(read.bootstrap.as_ref());
        }
        Ok(())
    }

    /// The Node of a machine. Its name is that in the Machine, else the host's.
    pub(super) fn node(
        &self,
        space: &str,
        machine: &Machine,
        owner: Option<&wire::Machine>,
        host: Option<&Host>,
        cluster: Option<&wire::Cluster>,
    ) -> Node {
        let Some(cluster) = cluster else {
            return Node::NoCluster;
        };
        let state = self
            .world
            .clusters
            .get(&Key::new(space, cluster.name_any()));
        if let Err(away) = state.link() {
            return Node::Away(away.to_string());
        }
        let id = machine
            .host
            .as_ref()
            .map(|host| infrastructure::provider_id(space, &host.name, &host.claim));
        let named = owner.and_then(|owner| owner.status.as_ref()?.node_ref.clone());
        let name = named
            .map(|node| node.name)
            .or_else(|| host.map(|host| host.hostname.clone()));
        let by_id = id
            .as_deref()
            .and_then(|id| state.find(|node| node.provider_id.as_deref() == Some(id)));
        let now = now();
        match (by_id, name.and_then(|name| state.node(&name))) {
            (Some(node), _) => self.unready.judge(&node, state.seen_since(), now),
            (None, Some(node)) => match &node.provider_id {
                Some(found) if Some(found) != id.as_ref() => Node::Other {
                    name: node.name.clone(),
                    provider_id: found.clone(),
                },
                // A Node without a provider id may be ours.
                Some(_) | None => self.unready.judge(&node, state.seen_since(), now),
            },
            (None, None) => Node::Missing {
                visible: now.saturating_sub(state.seen_since()),
            },
        }
    }

    fn decide_machine(&self, read: &Read) -> Decision {
        let space = read.machine.namespace.as_str();
        let now = now();
        let new_id = id::random();
        let domain = read
            .seen
            .as_ref()
            .and_then(|host| host.failure_domain.clone());
        let since = now - self.policy.image_window;
        let own = facts::tried(&read.object);
        let failures = self.inventory.failures(space, since, &own);
        self.inventory.look(space, |hosts| {
            // Only a machine that goes may give up its host.
            let brake: Option<Braked> = match read.machine.deleting {
                true => brake(hosts, domain.as_deref(), now, &self.policy),
                false => None,
            };
            decide(&Facts {
                now,
                machine: &read.machine,
                cluster: read.of.as_ref(),
                host: read.seen.as_ref(),
                hosts,
                node: &read.node,
                data: &read.data,
                held: &read.held,
                image: &|architecture| self.image(read, architecture),
                failed_with: &|image| failures.iter().filter(|(of, _)| of == image).count(),
                leads_for: self.leads_for(),
                brake: brake.as_ref(),
                new_id: &new_id,
                policy: &self.policy,
            })
        })
    }

    /// The image that the machine names, or that a catalogue names for its version.
    fn image(&self, read: &Read, architecture: Option<&str>) -> Result<String, String> {
        if let Some(image) = &read.object.spec.request.os_image {
            return Ok(image.clone());
        }
        let Some(owner) = &read.owner else {
            return Err("it has no Machine".to_owned());
        };
        let name = format!("Machine {}", owner.name_any());
        let wanted = For {
            name: &name,
            version: &owner.spec.version,
            labels: owner.labels(),
            architecture,
        };
        let chosen = self.world.catalogues.look(|all| choose(all, wanted));
        chosen
            .map(|image| image.to_string())
            .map_err(|why| why.to_string())
    }

    async fn perform(&self, read: &Read, act: &Act) -> Result<(), WriteError> {
        let machine = |change: Value| write::change(&self.client, &read.object, change);
        match act {
            Act::AddFinalizer => {
                write::finalizer(&self.client, &read.object, FINALIZER, true).await?;
            }
            Act::RemoveFinalizer => {
                write::finalizer(&self.client, &read.object, FINALIZER, false).await?;
            }
            Act::SetHost(host) => {
                machine(json!({ "spec": { "hostRef": host } })).await?;
            }
            Act::Commit => {
                machine(json!({ "spec": { "hostRef": { "committed": true } } })).await?;
            }
            Act::ClearHost { tried } => {
                machine(self.without_host(read, tried.as_ref())).await?;
            }
            Act::SetProviderId(id) => {
                machine(json!({ "spec": { "providerID": id } })).await?;
            }
            Act::SetProvisioned => self.set_provisioned(read).await?,
            Act::PutClaim(_) | Act::Release | Act::GiveUp | Act::TellData { .. } => {
                self.perform_on_host(read, act).await?;
            }
            Act::CopyData { .. } | Act::RemoveData => self.perform_on_secret(read, act).await?,
        }
        Ok(())
    }

    fn without_host(&self, read: &Read, failed: Option<&Failed>) -> Value {
        let mut change = json!({ "spec": { "hostRef": null } });
        let Some(failed) = failed else { return change };
        let claim = read.host.as_ref().and_then(|host| host.spec.claim.as_ref());
        let image = claim
            .and_then(|claim| claim.image.clone())
            .unwrap_or_default();
        let mut tried = facts::tried(&read.object);
        if tried.image != image {
            tried = facts::Tried::default();
        }
        tried.hosts.push(failed.host.clone());
        if failed.by_image {
            tried.by_image.push(failed.host.clone());
        }
        let tried = facts::Tried {
            image,
            at: now(),
            ..tried
        };
        let text = serde_json::to_string(&tried).unwrap_or_default();
        change["metadata"]["annotations"] = json!({ TRIED: text });
        change
    }

    async fn perform_on_host(&self, read: &Read, act: &Act) -> Result<(), WriteError> {
        let Some(host) = &read.host else {
            return Err(WriteError::Missing);
        };
        let claim = match act {
            Act::PutClaim(claim) => json!(claim),
            Act::Release => json!({ "wanted": "Released" }),
            Act::GiveUp => json!({ "lost": true }),
            Act::TellData { hash } => json!({ "bootstrapHash": hash }),
            Act::AddFinalizer
            | Act::RemoveFinalizer
            | Act::SetHost(_)
            | Act::ClearHost { .. }
            | Act::Commit
            | Act::CopyData { .. }
            | Act::RemoveData
            | Act::SetProviderId(_)
            | Act::SetProvisioned => return Ok(()),
        };
        let change = json!({ "spec": { "claim": claim } });
        write::change(&self.client, host, change).await.map(drop)
    }

    /// Writes the host's own Secret. Its data belong to one claim, and say which.
    async fn perform_on_secret(&self, read: &Read, act: &Act) -> Result<(), WriteError> {
        let Some(named) = &read.machine.host else {
            return Ok(());
        };
        let secrets: Api<Secret> = Api::namespaced(self.client.clone(), &read.machine.namespace);
        let Some(secret) = write::read(&secrets, &accounts::name(&named.name)).await? else {
            return Err(WriteError::Missing);
        };
        let empty =
            json!({ facts::CLAIM_KEY: null, facts::DATA_KEY: null, facts::FORMAT_KEY: null });
        let source = read
            .bootstrap
            .as_ref()
            .and_then(|secret| secret.data.as_ref());
        let data = match (act, source.and_then(|all| all.get(facts::DATA_KEY))) {
            (Act::CopyData { hash }, Some(data)) if facts::hash(data) == *hash => {
                self.note_data(read).await?;
                let claim = k8s_openapi::ByteString(named.claim.clone().into_bytes());
                json!({ facts::CLAIM_KEY: claim, facts::DATA_KEY: data })
            }
            (Act::CopyData { .. }, Some(_) | None) => return Err(WriteError::Conflict),
            (_, Some(_) | None) => empty,
        };
        write::change(&self.client, &secret, json!({ "data": data }))
            .await
            .map(drop)
    }

    /// The pool of a machine replaces it when the data are others, if its operator says so. Before
    /// the copy: one that is noted and not made is noted again with it.
    async fn note_data(&self, read: &Read) -> Result<(), WriteError> {
        let source = read.bootstrap.as_ref().map(ResourceExt::name_any);
        let is_noted = read.object.annotations().get(BOOTSTRAP) == source.as_ref();
        if is_noted || facts::pool_of(&read.object.metadata).is_none() {
            return Ok(());
        }
        let note = json!({ "metadata": { "annotations": { BOOTSTRAP: source } } });
        write::change(&self.client, &read.object, note)
            .await
            .map(drop)
    }

    async fn set_provisioned(&self, read: &Read) -> Result<(), WriteError> {
        let host = read.host.as_ref();
        let status = host
            .and_then(|host| host.status.clone())
            .unwrap_or_default();
        let domain = host.and_then(|host| host.spec.failure_domain.clone());
        let change = json!({
            "initialization": { "provisioned": true },
            "addresses": status.addresses,
            "failureDomain": domain,
        });
        write::change_status(&self.client, &read.object, change)
            .await
            .map(drop)
    }

    /// Writes the conditions, and what is shown of the host, if they differ.
    async fn report_machine(&self, read: &Read, decision: &Decision) -> Result<(), WriteError> {
        let status = read.object.status.clone().unwrap_or_default();
        let said = words(&read.machine, read.seen.as_ref(), decision);
        let new = conditions(
            &status.conditions,
            &said,
            (decision.why.code(), &decision.why.to_string()),
        );
        let shown = read.seen.as_ref().map(|host| ShownHost {
            name: host.name.clone(),
            phase: host.phase,
            image: host.image.clone(),
        });
        let addresses = addresses(read, &status);
        if new == status.conditions && status.host == shown && status.addresses == addresses {
            return Ok(());
        }
        let mut change = json!({ "conditions": new, "host": shown, "addresses": addresses });
        // A merge would keep the image of the last host.
        if change["host"].is_object() && change["host"].get("image").is_none() {
            change["host"]["image"] = Value::Null;
        }
        write::change_status(&self.client, &read.object, change)
            .await
            .map(drop)
    }

    pub(super) fn core<K>(&self, space: &str, kind: &str) -> Api<K>
    where
        K: kube::Resource<
                DynamicType = kube::core::ApiResource,
                Scope = kube::core::DynamicResourceScope,
            >,
    {
        Api::namespaced_with(self.client.clone(), space, &crate::api::core(kind))
    }
}

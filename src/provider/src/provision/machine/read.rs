//! Reads what a decision on a machine is based on.

use infrastructure::{Data, Held, Host, Machine, Node, OwnerCluster};
use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;

use super::super::work::Provision;
use super::super::{accounts, facts, pauses, wire};
use crate::kinds::{CareenCluster, CareenHost, CareenMachine, CareenMachinePool};
use crate::machines::Key;
use crate::writes::WriteError;

/// What a machine belongs to. It is read once in a look: no write states its version.
#[derive(Clone)]
pub(super) struct Parents {
    owner: Option<wire::Machine>,
    cluster: Option<wire::Cluster>,
    ours: Option<CareenCluster>,
}

/// Everything that one decision is based on, read from the API server.
pub(super) struct Read {
    pub(super) object: CareenMachine,
    pub(super) owner: Option<wire::Machine>,
    pub(super) host: Option<CareenHost>,
    pub(super) machine: Machine,
    pub(super) seen: Option<Host>,
    pub(super) of: Option<OwnerCluster>,
    pub(super) node: Node,
    pub(super) data: Data,
    pub(super) bootstrap: Option<Secret>,
    pub(super) held: Held,
}

impl Provision {
    pub(super) async fn read_machine(
        &self,
        key: &Key,
        parents: &mut Option<Parents>,
    ) -> Result<Option<Read>, WriteError> {
        let space = &*key.namespace;
        let Some(object) = self.read::<CareenMachine>(space, &key.name).await? else {
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
        let host = match &object.spec.host_ref {
            Some(named) => self.read(space, &named.name).await?,
            None => None,
        };
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
        let owner = facts::owner_of(&object.metadata, "Machine");
        let owner = match self.read_core(space, "Machine", owner).await? {
            Some(owner) => Some(self.as_its_pool_says(space, object, owner).await?),
            None => None,
        };
        let of_owner = owner.as_ref().map(|owner| owner.spec.cluster_name.clone());
        let cluster = facts::cluster_of(&object.metadata).or(of_owner);
        let cluster: Option<wire::Cluster> = self.read_core(space, "Cluster", cluster).await?;
        let reference = cluster.as_ref().map(|one| &one.spec.infrastructure_ref);
        let ours = match reference.filter(|one| one.kind == "CareenCluster") {
            Some(reference) => self.read(space, &reference.name).await?,
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
        let pool: Option<CareenMachinePool> = self.read(space, &pool).await?;
        let of = pool.and_then(|pool| facts::owner_of(&pool.metadata, "MachinePool"));
        let of = self.read_core(space, "MachinePool", of).await?;
        if let Some::<wire::MachinePool>(of) = of {
            owner.spec.version = of.spec.template.spec.version;
            owner.spec.bootstrap = of.spec.template.spec.bootstrap;
            owner.spec.domains_of_pool = of.spec.failure_domains;
        }
        Ok(owner)
    }

    /// Secrets are read only when a decision needs them: the bootstrap data while the host waits
    /// for them, the host's own Secret once it may hold some.
    async fn read_secrets(&self, space: &str, read: &mut Read) -> Result<(), WriteError> {
        let Some(named) = &read.machine.host else {
            return Ok(());
        };
        if named.committed && (!read.machine.provisioned || read.machine.deleting) {
            let secret: Option<Secret> = self.read(space, &accounts::name(&named.name)).await?;
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
            read.bootstrap = self.read(space, &source).await?;
            read.data = facts::data(read.bootstrap.as_ref());
        }
        Ok(())
    }

    /// The Node of a machine, if a person wants it left alone, and by which key.
    pub(in crate::provision) fn node_left_alone(
        &self,
        space: &str,
        machine: &Machine,
        cluster: Option<&wire::Cluster>,
    ) -> Option<String> {
        let key = Key::new(space, cluster?.name_any());
        let id = machine.provider_id.as_deref()?;
        let state = self.world.clusters.get(&key);
        let node = state.find(|node| node.provider_id.as_deref() == Some(id))?;
        pauses::hold_of_node(&node)
    }

    /// The Node of a machine. Its name is that in the Machine, else the host's.
    pub(in crate::provision) fn node(
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
        let now = self.now();
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
}

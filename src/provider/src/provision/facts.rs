//! Objects of the API server, as the decisions read them.

use infrastructure::{Cluster, Data, Held, Host, Machine, Owner, OwnerCluster, Registration};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::jiff::Timestamp;
use kube::core::ObjectMeta;
use kube::{Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{pauses, wire};
use crate::kinds::{self, CareenCluster, CareenHost, CareenMachine, FINALIZER, HostRegistration};
use crate::names;

/// The key of bootstrap data in a Secret, for Cluster API and for hosts.
pub const DATA_KEY: &str = "value";
/// The key of their format.
pub const FORMAT_KEY: &str = "format";
/// In the Secret of a host: the claim that its data belong to.
pub const CLAIM_KEY: &str = "claim";
/// The format that hosts read.
const CLOUD_CONFIG: &[u8] = b"cloud-config";

/// The host name that Linux gives a machine without one.
const NO_HOSTNAME: &str = "localhost";

/// The object has our finalizer.
#[must_use]
pub fn has_finalizer(meta: &ObjectMeta) -> bool {
    let all = meta.finalizers.iter().flatten();
    all.into_iter().any(|name| name == FINALIZER)
}

/// A host. What careen-provider has seen of its Lease is added by the inventory.
#[must_use]
pub fn host(object: &CareenHost) -> Host {
    let (meta, spec) = (object.meta(), &object.spec);
    let status = object.status.clone().unwrap_or_default();
    let some = |text: String| Some(text).filter(|text| !text.is_empty());
    let note = |key: &str| object.annotations().get(key).cloned();
    let address = |kind: &str| {
        let mut all = status.addresses.iter();
        all.find(|one| one.kind == kind)
            .map(|one| one.address.clone())
    };
    Host {
        name: object.name_any(),
        labels: object.labels().clone(),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta),
        registration: spec.registration.clone(),
        handover: spec.handover.clone(),
        approved: spec.approved,
        cordoned: spec.cordoned,
        reserved_for: spec.reserved_for.clone(),
        failure_domain: spec.failure_domain.clone(),
        claim: spec.claim.clone(),
        forced: note(kinds::FORCE_RELEASE),
        orphan_seen: note(kinds::ORPHAN_SEEN).and_then(|text| seen(&text)),
        orphan: note(kinds::ORPHAN),
        phase: status.phase,
        address: address("InternalIP").or_else(|| address("ExternalIP")),
        step: some(status.step),
        reason: some(status.reason),
        observed: status.observed_claim,
        hostname: some(status.hostname).unwrap_or_else(|| NO_HOSTNAME.to_owned()),
        architecture: some(status.architecture),
        capacity: status.capacity,
        image: some(status.image),
        loader_fit: status.loader == "ok",
        heard: 0,
        renewed: false,
    }
}

/// The value of [`kinds::ORPHAN_SEEN`]: the claim and the time.
fn seen(text: &str) -> Option<(String, i64)> {
    let (claim, at) = text.split_once(' ')?;
    Some((claim.to_owned(), at.parse::<Timestamp>().ok()?.as_second()))
}

/// The hosts that failed a machine, and with which image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct Tried {
    /// The image of the last failure.
    pub image: String,
    /// When it failed, in seconds since 1970.
    pub at: i64,
    /// The hosts.
    pub hosts: Vec<String>,
    /// Those of them that say that the image failed.
    pub by_image: Vec<String>,
}

/// What [`kinds::TRIED`] says.
#[must_use]
pub fn tried(object: &CareenMachine) -> Tried {
    let text = object.annotations().get(kinds::TRIED);
    let read = text.and_then(|text| serde_json::from_str(text).ok());
    read.unwrap_or_default()
}

/// The name of the Cluster that an object belongs to.
#[must_use]
pub fn cluster_of(meta: &ObjectMeta) -> Option<String> {
    meta.labels.as_ref()?.get(names::CLUSTER_LABEL).cloned()
}

/// The owner of this kind, in Cluster API's core group.
#[must_use]
pub fn owner_of(meta: &ObjectMeta, kind: &str) -> Option<String> {
    let group = format!("{}/", names::CORE_GROUP);
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.kind == kind && owner.api_version.starts_with(&group));
    owner.map(|owner| owner.name.clone())
}

/// The CareenMachinePool that made a CareenMachine.
#[must_use]
pub fn pool_of(meta: &ObjectMeta) -> Option<String> {
    let group = format!("{}/", kinds::GROUP);
    let mut owners = meta.owner_references.iter().flatten();
    let owner = owners
        .find(|owner| owner.kind == "CareenMachinePool" && owner.api_version.starts_with(&group));
    owner.map(|owner| owner.name.clone())
}

/// A machine.
#[must_use]
pub fn machine(
    object: &CareenMachine,
    owner: Option<&wire::Machine>,
    cluster: Option<&wire::Cluster>,
) -> Machine {
    let (meta, spec) = (object.meta(), &object.spec);
    let request = &spec.request;
    let status = object.status.as_ref();
    let provisioned = status.and_then(|status| status.initialization.as_ref()?.provisioned);
    Machine {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta),
        paused: pauses::paused(meta, "CareenMachine", cluster),
        owner: owner.map(|owner| Owner {
            version: owner.spec.version.clone(),
            failure_domain: owner.spec.failure_domain.clone(),
            domains: owner.spec.domains_of_pool.clone(),
            // Core writes an empty name into the Machines of a pool.
            has_data: owner
                .spec
                .bootstrap
                .data_secret_name
                .as_ref()
                .is_some_and(|name| !name.is_empty()),
            control_plane: owner.labels().contains_key(names::CONTROL_PLANE_LABEL),
        }),
        selector: request.host_selector.clone().unwrap_or_default(),
        host_name: request.host_name.clone(),
        minimum: request.minimum.clone(),
        release: request.release,
        join_seconds: request.join_seconds,
        host: spec.host_ref.clone(),
        provider_id: spec.provider_id.clone(),
        provisioned: provisioned.unwrap_or(false),
        tried: tried(object).hosts,
    }
}

/// The Cluster of a machine.
#[must_use]
pub fn owner_cluster(cluster: &wire::Cluster, ours: Option<&CareenCluster>) -> OwnerCluster {
    let note = ours.and_then(|ours| ours.annotations().get(kinds::BRAKE_OFF));
    let status = cluster.status.as_ref();
    let reached = status.map(|status| &status.initialization);
    OwnerCluster {
        name: cluster.name_any(),
        provisioned: reached.is_some_and(|reached| reached.infrastructure_provisioned),
        initialized: reached.is_some_and(|reached| reached.control_plane_initialized),
        brake_off: note.is_some_and(|word| word == "true"),
    }
}

/// A cluster.
#[must_use]
pub fn cluster(object: &CareenCluster, owner: Option<&wire::Cluster>) -> Cluster {
    let (meta, spec) = (object.meta(), &object.spec);
    let status = object.status.clone().unwrap_or_default();
    let provisioned = status.initialization.and_then(|one| one.provisioned);
    Cluster {
        owner: owner.map(ResourceExt::name_any),
        managed_elsewhere: object.annotations().contains_key(kinds::MANAGED_BY),
        paused: pauses::paused(meta, "CareenCluster", owner),
        deleting: meta.deletion_timestamp.is_some(),
        finalizer: has_finalizer(meta),
        endpoint: spec.control_plane_endpoint.clone(),
        endpoint_from: spec.request.control_plane_endpoint_from.clone(),
        owners_endpoint: owner.and_then(|owner| owner.spec.control_plane_endpoint.clone()),
        domains: spec.request.failure_domains.clone(),
        domain_selector: spec.request.failure_domain_selector.clone(),
        provisioned: provisioned.unwrap_or(false),
        shown: status.failure_domains,
    }
}

/// A registration that has let in this many hosts.
#[must_use]
pub fn registration(object: &HostRegistration, approved: usize) -> Registration {
    Registration {
        auto_approve: object.spec.auto_approve,
        name_prefix: object.spec.name_prefix.clone(),
        max_hosts: usize::try_from(object.spec.max_hosts).unwrap_or(0),
        approved,
    }
}

/// The bootstrap data of a Machine.
#[must_use]
pub fn data(secret: Option<&Secret>) -> Data {
    let Some(all) = secret.and_then(|secret| secret.data.as_ref()) else {
        return Data::Missing;
    };
    let format = all.get(FORMAT_KEY);
    if format.is_some_and(|format| format.0 != CLOUD_CONFIG) {
        let format = format.map(|format| {
            String::from_utf8_lossy(&format.0)
                .chars()
                .take(32)
                .collect()
        });
        let format: String = format.unwrap_or_default();
        return Data::Bad(format!(
            "their format is {format:?}; hosts read cloud-config"
        ));
    }
    all.get(DATA_KEY)
        .map_or(Data::Missing, |data| Data::Hash(hash(data)))
}

/// The SHA-256 of bootstrap data.
#[must_use]
pub fn hash(data: &ByteString) -> String {
    let digest = Sha256::digest(&data.0);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What the Secret of a host holds.
#[must_use]
pub fn held(secret: Option<&Secret>) -> Held {
    let all = secret.and_then(|secret| secret.data.as_ref());
    let parts = all.and_then(|all| Some((all.get(CLAIM_KEY)?, all.get(DATA_KEY)?)));
    parts.map_or(Held::Nothing, |(claim, data)| Held::Data {
        claim: String::from_utf8_lossy(&claim.0).into_owned(),
        hash: hash(data),
    })
}

//! Groups, version and keys of the kinds.

/// The group of the kinds that Cluster API reads. Core's own role covers it.
pub const GROUP: &str = "infrastructure.cluster.x-k8s.io";
/// The group of the hosts. Core has no rights there.
pub const HOSTS: &str = "careen.dev";
/// The version of all kinds.
pub const VERSION: &str = "v1alpha1";

/// The finalizer of our objects.
pub const FINALIZER: &str = "careen.dev/host";
/// On a CareenHost: a person's word that the computer of the claim with this id is off.
pub const FORCE_RELEASE: &str = "careen.dev/force-release";
/// On a CareenHost, at the first look at an orphan: the id of the claim, and the time.
pub const ORPHAN_SEEN: &str = "careen.dev/orphan-seen";
/// On a CareenHost, at the second look: the id of the claim.
pub const ORPHAN: &str = "careen.dev/orphan";
/// On a Node of a prepared host: no CareenMachine has its claim. To the agent and to the engine it is
/// an opt-out, by its name.
pub const UNMANAGED: &str = "careen.dev/unmanaged";
/// On a CareenCluster: a person's word that its silent hosts are off.
pub const BRAKE_OFF: &str = "careen.dev/brake-off";
/// On a CareenMachine of a pool: the Secret with the bootstrap data that its host got.
pub const BOOTSTRAP: &str = "careen.dev/bootstrap-data";
/// On a CareenMachine: the hosts that failed it, and with which image.
pub const TRIED: &str = "careen.dev/tried";
/// On a CareenCluster: another program manages it. Core reads it as an annotation too
/// (util/annotations in Cluster API), although the contract's text says label.
pub const MANAGED_BY: &str = "cluster.x-k8s.io/managed-by";

//! The objects that the client reads, each with only the relevant fields. The API's full types take
//! tens of kilobytes per object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{NotUsed, Object};
use serde::{Deserialize, Serialize};

use super::clean::Cleaned;

/// A Node.
pub type Node = Cleaned<client::Node>;
/// A pod.
pub type Pod = Cleaned<client::Pod>;
/// A PodDisruptionBudget.
pub type Budget = Cleaned<Object<Option<BudgetSpec>, BudgetStatus>>;

/// A Lease.
pub type Lease = Cleaned<Object<Option<LeaseSpec>, NotUsed>>;

/// The pods that a budget covers.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct BudgetSpec {
    /// The selector; without one the budget covers no pods.
    pub selector: Option<LabelSelector>,
}

/// What a budget currently allows.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetStatus {
    /// How many pods may be evicted now.
    pub disruptions_allowed: i32,
}

/// Who holds a Lease, and since when.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct LeaseSpec {
    /// The holder.
    pub holder_identity: Option<String>,
    /// When the holder took it, in the API's format.
    pub acquire_time: Option<String>,
    /// When the holder last renewed it, in the API's format.
    pub renew_time: Option<String>,
}

//! The objects that are read, each with the few fields that matter. The full types of the API take
//! tens of kilobytes an object.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::Object;
use serde::{Deserialize, Serialize};

use super::Cleaned;

/// A Node.
pub type Node = Cleaned<client::Node>;
/// A pod.
pub type Pod = Cleaned<client::Pod>;
/// A PodDisruptionBudget.
pub type Budget = Cleaned<Object<Option<BudgetSpec>, BudgetStatus>>;

/// Whom a budget is about.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct BudgetSpec {
    /// The pods; none when absent.
    pub selector: Option<LabelSelector>,
}

/// What a budget allows now.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetStatus {
    /// So many pods may be evicted at this moment.
    pub disruptions_allowed: i32,
}

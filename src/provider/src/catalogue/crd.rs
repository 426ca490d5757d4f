//! The ImageCatalogue as the API server knows it. `packaging/provider/crd.yaml` is rendered from
//! here and checked for drift.

use std::collections::BTreeMap;

use kube::{CustomResource, CustomResourceExt, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Images by the Kubernetes version that they carry.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, CustomResource, Deserialize, Serialize, KubeSchema,
)]
#[kube(
    group = "careen.dev",
    version = "v1alpha1",
    kind = "ImageCatalogue",
    plural = "imagecatalogues",
    shortname = "imgcat",
    status = "ImageCatalogueStatus",
    derive = "Default",
    derive = "PartialEq",
    printcolumn = r#"{"name":"Ready","type":"string","jsonPath":".status.conditions[?(@.type=='Ready')].status"}"#,
    printcolumn = r#"{"name":"Versions","type":"string","jsonPath":".status.versions"}"#,
    printcolumn = r#"{"name":"Message","type":"string","priority":1,"jsonPath":".status.conditions[?(@.type=='Ready')].message"}"#,
    printcolumn = r#"{"name":"Age","type":"date","jsonPath":".metadata.creationTimestamp"}"#
)]
#[serde(rename_all = "camelCase")]
pub struct ImageCatalogueSpec {
    /// The images. Of those that fit a Machine, the one with the most selectors is taken.
    #[schemars(length(max = 256))]
    pub images: Vec<Entry>,
}

/// One image.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("self.image.contains('@')").message("image must be pinned: end it with @ and the commit's 64 hexadecimal digits")
)]
pub struct Entry {
    /// The version of the kubelet and kubeadm in the image, as v1.36.3; exactly as a Machine's
    /// spec.version says it.
    #[schemars(
        length(max = 64),
        regex(pattern = r"^v[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.+-]+)?$")
    )]
    pub kubernetes_version: String,
    /// The image: ostree:REMOTE:REF@COMMIT or docker://HOST/NAME@sha256:DIGEST.
    #[schemars(
        length(max = 512),
        regex(
            pattern = r"^(ostree:[A-Za-z0-9_][A-Za-z0-9._-]*:[A-Za-z0-9_][A-Za-z0-9._/-]*(@[0-9a-f]{64})?|docker://[a-z0-9.:-]+/[a-z0-9._/-]+@sha256:[0-9a-f]{64})$"
        )
    )]
    pub image: String,
    /// Only Machines with these labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine_selector: Option<Selector>,
    /// Only nodes of this architecture, as Kubernetes names it: amd64, arm64.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 32))]
    pub architecture: Option<String>,
    /// Only Machines whose label careen.dev/stateroot says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 63))]
    pub stateroot: Option<String>,
}

/// Labels that a Machine must have, all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Selector {
    /// Label and value.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
}

/// What became of a catalogue's entries.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ImageCatalogueStatus {
    /// `Ready`: every entry resolves.
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// One for each entry, in its order.
    #[serde(default)]
    pub images: Vec<EntryStatus>,
    // Of a list the API server's table shows the first alone (its tableconvertor.go).
    /// The versions of all entries, each once, with commas between them.
    #[serde(default)]
    pub versions: String,
    /// The generation that this was said of.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

/// What became of one entry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EntryStatus {
    /// As in the entry.
    pub kubernetes_version: String,
    /// A Machine can get this image.
    pub resolves: bool,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// A condition, as everywhere in Kubernetes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// Its type.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A stable word.
    pub reason: String,
    /// A sentence.
    pub message: String,
    /// When the status changed last.
    pub last_transition_time: String,
}

/// The CRD as JSON.
///
/// # Errors
/// Never: it is made of strings and maps.
pub fn manifest() -> Result<serde_json::Value, serde_json::Error> {
    serde_json::to_value(ImageCatalogue::crd())
}

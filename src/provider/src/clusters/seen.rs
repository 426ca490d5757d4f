//! Objects of a workload cluster, reduced to facts while they are read. The rest of a Node is never
//! stored, not even until its list is complete.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use requests::{NodeFacts, StaticPod};
use serde::{Deserialize, Deserializer};
use upgrade::sanitize::Clean;

use super::parse::{self, STRING};
use super::size::Size;
use super::wire;

/// A Node of a workload cluster.
pub type Node = Seen<NodeFacts>;

/// The mirror of a static pod: its name, its Node's name, and its facts. Nothing if the pod is not
/// one.
pub type Pod = Seen<Option<(String, String, StaticPod)>>;

/// Facts, and the part of the object's metadata that a watch needs.
#[derive(Clone, Debug)]
pub struct Seen<F> {
    meta: ObjectMeta,
    /// The facts.
    pub facts: F,
    /// A Node that is marked as one that no machine has.
    pub unmanaged: bool,
}

impl<F> Seen<F> {
    /// The object's name.
    pub fn name(&self) -> &str {
        self.meta.name.as_deref().unwrap_or_default()
    }
}

impl<F: Size> Size for Seen<F> {
    fn size(&self) -> usize {
        size_of::<ObjectMeta>() + self.name().len() + self.facts.size()
    }
}

impl Size for Option<(String, String, StaticPod)> {
    fn size(&self) -> usize {
        let strings = self.as_ref().map_or(0, |(name, node, pod)| {
            let version = pod.version.as_ref().map_or(0, String::len);
            // The name is also the map key.
            2 * name.len() + node.len() + pod.component.len() + version
        });
        size_of::<Self>() + strings
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = wire::Node::deserialize(Clean::new(deserializer, STRING))?;
        Ok(Self {
            meta: meta(&object.metadata),
            unmanaged: parse::is_unmanaged(&object),
            facts: parse::node(object),
        })
    }
}

impl<'de> Deserialize<'de> for Pod {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let object = wire::Pod::deserialize(Clean::new(deserializer, STRING))?;
        Ok(Self {
            meta: meta(&object.metadata),
            facts: parse::pod(object),
            unmanaged: false,
        })
    }
}

fn meta(of: &wire::Meta) -> ObjectMeta {
    ObjectMeta {
        name: Some(parse::name(&of.name)),
        resource_version: Some(parse::version(&of.resource_version)),
        ..ObjectMeta::default()
    }
}

impl<F> Resource for Seen<F> {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(of: &ApiResource) -> Cow<'_, str> {
        of.kind.as_str().into()
    }

    fn group(of: &ApiResource) -> Cow<'_, str> {
        of.group.as_str().into()
    }

    fn version(of: &ApiResource) -> Cow<'_, str> {
        of.version.as_str().into()
    }

    fn plural(of: &ApiResource) -> Cow<'_, str> {
        of.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

//! Objects whose text contains no control sequences. The types of [`super::objects`] are read only
//! through this type.

use std::borrow::Cow;
use std::ops::{Deref, DerefMut};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::{Deserialize, Deserializer, Serialize};
use upgrade::sanitize;

/// The longest string that is read, in bytes. The longest valid one is the JSON of an annotation.
const STRING: usize = 96 * 1024;

/// An object of the API server. Every string in it was sanitized while it was read, including keys,
/// so a new field is sanitized too.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct Cleaned<K>(K);

impl<K> Cleaned<K> {
    /// The wrapped object.
    pub fn into_inner(self) -> K {
        self.0
    }
}

impl<'de, K: Deserialize<'de>> Deserialize<'de> for Cleaned<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        K::deserialize(sanitize::Clean::new(deserializer, STRING)).map(Self)
    }
}

impl<K> Deref for Cleaned<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.0
    }
}

impl<K> DerefMut for Cleaned<K> {
    fn deref_mut(&mut self) -> &mut K {
        &mut self.0
    }
}

impl<K: Resource> Resource for Cleaned<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(of: &Self::DynamicType) -> Cow<'_, str> {
        K::kind(of)
    }

    fn group(of: &Self::DynamicType) -> Cow<'_, str> {
        K::group(of)
    }

    fn version(of: &Self::DynamicType) -> Cow<'_, str> {
        K::version(of)
    }

    fn plural(of: &Self::DynamicType) -> Cow<'_, str> {
        K::plural(of)
    }

    fn meta(&self) -> &ObjectMeta {
        self.0.meta()
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        self.0.meta_mut()
    }
}

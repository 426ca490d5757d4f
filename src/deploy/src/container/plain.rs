//! skopeo reads JSON by Go's rules: the case of a name does not matter, and a repeated object adds
//! to the first. A manifest with a name that Go would read differently is rejected here.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The names that are looked at.
const NAMES: [&str; 7] = [
    "config",
    "urls",
    "manifests",
    "digest",
    "size",
    "platform",
    "architecture",
];

/// JSON that Go reads in the same way.
pub struct Plain;

impl<'de> Deserialize<'de> for Plain {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Look)
    }
}

struct Look;

impl<'de> Visitor<'de> for Look {
    type Value = Plain;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut pairs: A) -> Result<Plain, A::Error> {
        let mut seen = Vec::new();
        while let Some(key) = pairs.next_key::<String>()? {
            if let Some(name) = NAMES.into_iter().find(|name| is_read_as(&key, name)) {
                if key != name || seen.contains(&name) {
                    return Err(A::Error::custom(format!("{key:?} is repeated or misspelt")));
                }
                seen.push(name);
            }
            pairs.next_value::<Plain>()?;
        }
        Ok(Plain)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut all: A) -> Result<Plain, A::Error> {
        while all.next_element::<Plain>()?.is_some() {}
        Ok(Plain)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_str<E>(self, _: &str) -> Result<Plain, E> {
        Ok(Plain)
    }

    fn visit_unit<E>(self) -> Result<Plain, E> {
        Ok(Plain)
    }
}

/// Go folds letters as Unicode does: a long s is an s, and the sign of Kelvin is a k.
fn is_read_as(key: &str, name: &str) -> bool {
    let folded = key.chars().flat_map(char::to_uppercase);
    folded.flat_map(char::to_lowercase).eq(name.chars())
}

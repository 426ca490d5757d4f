//! The image in a call of UpdateMachine is anybody's word, where the hooks are open to all of a cluster's pods: a node is asked for it only
//! when the InfraMachine names it too. Core has written it there before it calls.

use serde_json::Value;
use upgrade::Target;

use super::Worker;
use crate::engine::{Machine, Told};
use crate::hands::HandError;

impl Worker {
    /// Ok where the call named no image, for then the catalogue does, or the one that the InfraMachine names.
    ///
    /// # Errors
    /// [`HandError::Refused`], with the image, when the InfraMachine does not name it or is not there; or when it cannot be read.
    pub(super) async fn vouch(
        &self,
        machine: &Machine,
        told: Option<&Told>,
    ) -> Result<(), HandError> {
        let Some(Ok(Some(image))) = told.map(|told| &told.image) else {
            return Ok(());
        };
        let refused = |infra: &str| {
            HandError::Refused(format!(
                "a call of UpdateMachine names the image {image}, and {infra}"
            ))
        };
        match self.infra.of(machine).await {
            Ok(infra) if names(infra.spec(), image) => Ok(()),
            Ok(_) => Err(refused("the InfraMachine does not")),
            Err(HandError::Missing) => Err(refused("there is no InfraMachine")),
            Err(other) => Err(other),
        }
    }
}

/// In whichever field: which ones name images is a setting that comes with the call.
fn names(value: &Value, image: &Target) -> bool {
    match value {
        Value::String(text) => text.parse::<Target>().is_ok_and(|named| named == *image),
        Value::Array(all) => all.iter().any(|value| names(value, image)),
        Value::Object(all) => all.values().any(|value| names(value, image)),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn an_image_counts_wherever_the_spec_names_it_and_no_other_does() {
        let spec = serde_json::json!({ "os": [{ "image": "ostree:careen:v2" }], "memory": 4 });
        assert!(names(&spec, &"ostree:careen:v2".parse().unwrap()));
        assert!(!names(&spec, &"ostree:careen:evil".parse().unwrap()));
        assert!(!names(&Value::Null, &"ostree:careen:v2".parse().unwrap()));
    }
}

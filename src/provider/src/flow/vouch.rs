//! Verifies the image of an UpdateMachine call. If the hooks are open to all pods of a cluster,
//! anybody can send one. The provider goes by a call only if the InfraMachine names the same image,
//! or if neither names one. So a forged call neither begins an upgrade nor holds one. Core writes
//! the InfraMachine before it calls.

use serde_json::Value;
use upgrade::Target;

use super::Worker;
use crate::engine::{Instruction, Machine};
use crate::hooks::image_of;
use crate::writes::{self, WriteError};

impl Worker {
    /// Ok if the call and the InfraMachine name the same image, or if neither names one and the
    /// catalogue decides.
    ///
    /// # Errors
    /// [`WriteError::Refused`], with the image, if only one of them names it, if there is no
    /// InfraMachine, or if the image cannot be read.
    pub(super) async fn vouch(
        &self,
        machine: &Machine,
        told: &Instruction,
    ) -> Result<(), WriteError> {
        match &told.image {
            // Without an image there is no request.
            Err(_) => Ok(()),
            Ok(Some(image)) => self.vouch_for(machine, image).await,
            Ok(None) => self.vouch_for_none(machine).await,
        }
    }

    async fn vouch_for(&self, machine: &Machine, image: &Target) -> Result<(), WriteError> {
        let refused = |infra: &str| refused(&format!("the image {image}"), infra);
        match self.infra_of(machine).await {
            Ok(infra) if names(infra.spec(), image) => Ok(()),
            Ok(_) => Err(refused("the InfraMachine does not")),
            Err(WriteError::Missing) => Err(refused("there is no InfraMachine")),
            Err(other) => Err(other),
        }
    }

    /// Uses the provider's own settings, because a caller may omit those of the call.
    async fn vouch_for_none(&self, machine: &Machine) -> Result<(), WriteError> {
        let infra = match self.infra_of(machine).await {
            Err(WriteError::Missing) => {
                return Err(refused("no image", "there is no InfraMachine"));
            }
            read => read?,
        };
        let settings = writes::settings_of_extension(self.client.clone(), &self.extension).await?;
        let rules = self.world.settings.rules(&settings.unwrap_or_default());
        let image = rules.and_then(|rules| image_of(infra.spec(), "", &rules));
        match image.map_err(WriteError::Refused)? {
            None => Ok(()),
            Some(image) => Err(refused(
                "no image",
                &format!("the InfraMachine names {image}"),
            )),
        }
    }
}

fn refused(call: &str, infra: &str) -> WriteError {
    WriteError::Refused(format!(
        "the call of UpdateMachine names {call}, but {infra}"
    ))
}

/// Searches all fields: which fields name images is a setting that comes with the call.
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

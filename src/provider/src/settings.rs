//! What an operator sets: flags for the whole process, settings of the ExtensionConfig and annotations for parts of it.

use std::collections::BTreeMap;

use crate::engine::Policy;
use crate::hooks::{PatchType, Rules};
use crate::names;

/// What holds where nothing nearer says otherwise.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Hold a rollout that cannot be done in place instead of letting Cluster API replace Machines.
    pub never_replace: bool,
    /// Fields of an InfraMachine's spec that name an image, as `osImage` or `os.image`.
    pub image_fields: Vec<String>,
    /// Upgrade control planes in place too. No flag: the agent refuses their nodes yet (reason `ControlPlane`), and a rollout that
    /// began with one would stand still there.
    pub control_planes: bool,
    /// Limits.
    pub policy: Policy,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            never_replace: false,
            control_planes: false,
            image_fields: vec!["osImage".to_owned()],
            policy: Policy::default(),
        }
    }
}

impl Settings {
    /// The rules for one hook call, with the ExtensionConfig's settings over our own.
    ///
    /// # Errors
    /// In words, when a setting is not of its form: a rollout must not go on by a rule that somebody mistyped.
    pub fn rules(&self, settings: &BTreeMap<String, String>) -> Result<Rules, String> {
        let patch_type = match settings.get(names::SETTING_PATCH_TYPE).map(String::as_str) {
            None | Some("" | "JSONPatch") => PatchType::Json,
            Some("JSONMergePatch") => PatchType::Merge,
            Some(other) => {
                return Err(format!(
                    "setting {} is {other:?}, which is not valid. Use JSONPatch or JSONMergePatch.",
                    names::SETTING_PATCH_TYPE
                ));
            }
        };
        let fields = settings.get(names::SETTING_IMAGE_FIELDS).map_or_else(
            || self.image_fields.clone(),
            |list| {
                list.split(',')
                    .map(|field| field.trim().to_owned())
                    .collect()
            },
        );
        Ok(Rules {
            image_fields: fields
                .iter()
                .filter(|field| !field.is_empty())
                .map(|field| pointer(field))
                .collect(),
            patch_type,
        })
    }

    /// Whether a change that is not covered holds the rollout. The nearest word counts: MachineDeployment, Cluster,
    /// ExtensionConfig, flag. A word that cannot be read counts as "hold": nothing is deleted by a typing error.
    #[must_use]
    pub fn never_replace(&self, nearest_first: [Option<&str>; 3]) -> bool {
        nearest_first
            .into_iter()
            .flatten()
            .next()
            .map_or(self.never_replace, |word| word != "false")
    }
}

/// `os.image` as `/os/image`.
fn pointer(field: &str) -> String {
    format!("/{}", field.trim_start_matches('/').replace('.', "/"))
}

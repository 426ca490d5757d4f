//! Operator settings: flags for the whole process, ExtensionConfig settings and annotations for
//! parts of it.

use std::collections::BTreeMap;

use crate::engine::Policy;
use crate::hooks::patch::PatchType;
use crate::hooks::rules::Rules;
use crate::names;

/// The defaults that apply unless a nearer setting overrides them.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Hold a rollout that cannot be done in place, so that Cluster API does not replace Machines.
    pub never_replace: bool,
    /// Fields of an InfraMachine's spec that name an image, such as `osImage` or `os.image`.
    pub image_fields: Vec<String>,
    /// Promise the control plane manager that Machines of control planes are upgraded in place too.
    /// Without it they are replaced: the agent refuses their nodes (reason `ControlPlane`) unless
    /// their policy enables it, and a rollout that started with one would stop there.
    pub control_planes: bool,
    /// The limits of an upgrade.
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
    /// The rules for one hook call. The ExtensionConfig's settings override the flags.
    ///
    /// # Errors
    /// A message, if a setting is malformed: a rollout must not continue under a mistyped rule.
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

    /// Whether an uncovered change holds the rollout. The nearest setting wins: MachineDeployment,
    /// Cluster, ExtensionConfig, flag. An unreadable value counts as "hold", so that a typing error
    /// deletes nothing.
    #[must_use]
    pub fn never_replace(&self, nearest_first: [Option<&str>; 3]) -> bool {
        nearest_first
            .into_iter()
            .flatten()
            .next()
            .map_or(self.never_replace, |word| word != "false")
    }
}

/// `os.image` becomes `/os/image`.
fn pointer(field: &str) -> String {
    format!("/{}", field.trim_start_matches('/').replace('.', "/"))
}

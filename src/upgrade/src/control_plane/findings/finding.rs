//! One finding.

use serde::Serialize;

use super::code::{Class, Code};
use crate::reason::{Reason, few};

/// One thing that an operator should know before an upgrade of this control plane.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Which one; the name of its section in the docs.
    pub code: Code,
    /// What it means for an upgrade.
    pub class: Class,
    /// What is found, and what to do.
    pub says: String,
}

impl Finding {
    pub(super) fn new(code: Code, class: Class, says: String) -> Self {
        Self { code, class, says }
    }

    pub(super) fn refuse(code: Code, says: String) -> Self {
        Self::new(code, Class::Refuse, says)
    }

    pub(super) fn wait(code: Code, says: String) -> Self {
        Self::new(code, Class::Wait, says)
    }

    pub(super) fn warn(code: Code, says: String) -> Self {
        Self::new(code, Class::Warn, says)
    }

    /// The reason that an upgrade gives for it. A warning stops nothing, so it has none.
    #[must_use]
    pub fn reason(&self) -> Option<Reason> {
        let (finding, detail) = (self.code.name().to_owned(), self.says.clone());
        match self.class {
            Class::Refuse => Some(Reason::ControlPlaneUnfit { finding, detail }),
            Class::Wait => Some(Reason::ControlPlaneWaits { finding, detail }),
            Class::Warn => None,
        }
    }
}

/// Names for a sentence.
pub(super) fn listed<T: ToString>(names: impl IntoIterator<Item = T>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    few(&names)
}

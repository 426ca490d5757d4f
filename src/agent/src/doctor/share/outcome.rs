//! What a fix has done, and how a person is told.

use host::kubernetes::User;
use upgrade::names;
use upgrade::reason::few;

/// The result of a fix.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Shared {
    /// No control plane runs here, so nothing needs a fix.
    Worker,
    /// All deployments share the folder, and the deployment's own one is empty.
    Yes,
    /// All deployments share the folder. These processes still use the deployment's own one, so it
    /// is not empty.
    InUse(Vec<User>),
}

/// One sentence, and what is left to do.
#[must_use]
pub fn told(shared: &Shared) -> String {
    match shared {
        Shared::Worker => "No control plane runs here, so there is nothing to fix.".to_owned(),
        Shared::Yes => format!(
            "All deployments share {} as {}.",
            names::SHARED_KUBERNETES,
            names::KUBERNETES
        ),
        Shared::InUse(users) => {
            let names: Vec<_> = users
                .iter()
                .map(|user| format!("{} ({})", user.name, user.pid))
                .collect();
            format!(
                "All deployments share {} as {}. These processes still use the deployment's own \
                 folder, so it is not empty: {}. Reboot this node, or restart its static pods, and \
                 run careen-agent doctor --fix once more.",
                names::SHARED_KUBERNETES,
                names::KUBERNETES,
                few(&names)
            )
        }
    }
}

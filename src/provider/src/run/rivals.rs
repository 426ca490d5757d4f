//! Two packages of careen-provider in one management cluster would both write to the same nodes.
//! There is one ExtensionConfig of the name, so the provider that it leads to works, and the other
//! one waits and says so.

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tracing::warn;

use crate::lease::Rival;
use crate::writes::namespace_of_extension;

/// How often the provider looks.
const EACH: Duration = Duration::from_secs(10);

/// Looks for ever at where the ExtensionConfig of this name leads. An ExtensionConfig that cannot
/// be read, or that names a URL, says nothing of another provider.
pub async fn watch(client: Client, name: String, own: String, rival: watch::Sender<Rival>) {
    loop {
        match namespace_of_extension(client.clone(), &name).await {
            Ok(called) => {
                let found = called.filter(|called| *called != own);
                if *rival.borrow() != found {
                    report(&name, found.as_deref());
                    rival.send_replace(found);
                }
            }
            Err(error) => {
                warn!("cannot read ExtensionConfig {name}: {error}. The look is repeated.")
            }
        }
        tokio::time::sleep(EACH).await;
    }
}

fn report(name: &str, rival: Option<&str>) {
    match rival {
        Some(namespace) => warn!("{}", sentence(name, namespace)),
        None => tracing::info!("ExtensionConfig {name} leads to this careen-provider again"),
    }
}

/// What to say and to do.
#[must_use]
pub fn sentence(name: &str, namespace: &str) -> String {
    format!(
        "ExtensionConfig {name} leads to the careen-provider in namespace {namespace}: this one does nothing. Uninstall one of the two packages."
    )
}

//! How this node serves: noted before the drain, and looked at during a trial.

mod elsewhere;
mod executable;
mod kept;
mod kernel;
mod limits;
mod node;
mod pods;
mod proxy;
mod settings;
mod system;
mod units;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::serving::Offer;

use crate::cluster::Cluster;

pub(crate) use executable::is_broken;
pub use kernel::in_use;
pub use limits::limits;
pub use node::{noted, offer};
pub use settings::settings;
pub use system::{SystemWatch, system};
pub use units::UnitsWatch;

/// Pause between two looks at the Node and its pods, only while a trial waits for its verdict, and
/// before a drain.
pub const PAUSE: Duration = Duration::from_secs(2);

/// After so many looks the pause is the long one: the trial soaks.
const OFTEN: u32 = 450;

/// The pause after that.
const LONG_PAUSE: Duration = Duration::from_secs(15);

/// What the looks have found.
#[derive(Clone, Default, PartialEq)]
struct Looked {
    /// The first look has ended.
    once: bool,
    /// The latest answer.
    offer: Option<Offer>,
}

/// Looks at the Node and its pods until it is dropped.
pub struct Watcher {
    looked: watch::Receiver<Looked>,
    task: JoinHandle<()>,
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Watcher {
    /// Starts to look at this Node.
    #[must_use]
    pub fn start(cluster: Arc<Cluster>, node: String) -> Self {
        let (sender, looked) = watch::channel(Looked::default());
        let task = tokio::spawn(async move { look(&cluster, &node, &sender).await });
        Self { looked, task }
    }

    /// The latest look that the server answered.
    #[must_use]
    pub fn offer(&self) -> Option<Offer> {
        self.looked.borrow().offer.clone()
    }

    /// Whether the first look has not ended yet. Nothing is known until then, and that must not
    /// count as a bad system.
    #[must_use]
    pub fn is_looking(&self) -> bool {
        !self.looked.borrow().once
    }

    /// Waits until that changes.
    pub async fn news(&mut self) {
        if self.looked.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// What the server does not answer stays as it was: the trial's other checks say that the server is
/// away.
async fn look(cluster: &Cluster, node: &str, sender: &watch::Sender<Looked>) {
    let mut looks = 0_u32;
    loop {
        let now = offer(cluster, node).await.ok();
        sender.send_if_modified(|before| {
            let offer = now.or_else(|| before.offer.clone());
            let now = Looked { once: true, offer };
            let changed = *before != now;
            *before = now;
            changed
        });
        looks = looks.saturating_add(1);
        let pause = if looks < OFTEN { PAUSE } else { LONG_PAUSE };
        tokio::time::sleep(pause).await;
    }
}

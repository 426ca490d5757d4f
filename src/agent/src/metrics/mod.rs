//! Prometheus metrics of this node. They come from the record and the observation, so that they
//! survive the reboot that they describe. The agent counts nothing and keeps nothing up to date in
//! between, so metrics that no client requests cost nothing.

mod measure;
mod samples;
mod serve;
mod shown;
mod table;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::task::JoinHandle;
use upgrade::decide::RecordRead;
use upgrade::listen::Listen;
use upgrade::policy::in_force;
use upgrade::{Observation, PolicyRead};

pub use measure::Measure;
pub use serve::CONTENT_TYPE;
pub use shown::{Disk, Linked, Shown};
pub use table::{Kind, Metric, PREFIX, TABLE, reference, text};

/// Pause after a failure to bind the address. The program that uses it may release it, and nobody
/// wants a restart of the agent for the sake of its metrics.
const AGAIN: Duration = Duration::from_secs(60);

/// The state that clients get.
#[derive(Debug)]
enum Latest {
    /// Nothing yet.
    Unknown,
    /// The agent observed nothing so far, and the loop is stuck.
    Blind,
    /// The latest observation.
    Seen(Box<Shown>),
}

/// The loop's side, which stores what clients get.
pub struct Metrics {
    look: Arc<dyn Fn() -> Disk + Send + Sync>,
    latest: watch::Sender<Latest>,
    door: Listen,
    again: Duration,
    serving: Option<JoinHandle<()>>,
}

impl Drop for Metrics {
    fn drop(&mut self) {
        self.serving.iter().for_each(JoinHandle::abort);
    }
}

impl Metrics {
    /// Serves nothing yet. `look` measures the room on the disk when a client asks for it.
    pub fn new(look: impl Fn() -> Disk + Send + Sync + 'static) -> Self {
        Self {
            look: Arc::new(look),
            latest: watch::Sender::new(Latest::Unknown),
            door: Listen::Off,
            again: AGAIN,
            serving: None,
        }
    }

    /// Sets another pause than [`AGAIN`].
    #[must_use]
    pub fn trying_again_after(mut self, pause: Duration) -> Self {
        self.again = pause;
        self
    }

    /// Serves at the address in the policy in force. A broken policy file changes nothing, even for
    /// an agent that starts with it. Otherwise no client would learn that it is broken.
    pub fn follow(&mut self, policy: &PolicyRead) {
        let policy = in_force(policy);
        if policy.metrics.listen == self.door {
            return;
        }
        self.door.clone_from(&policy.metrics.listen);
        self.serving.take().iter().for_each(JoinHandle::abort);
        if self.door != Listen::Off {
            let (latest, look) = (self.latest.subscribe(), Arc::clone(&self.look));
            let answer = move || {
                let shown = match &*latest.borrow() {
                    Latest::Unknown => return None,
                    Latest::Blind => return Some(table::blind()),
                    Latest::Seen(shown) => Shown::clone(shown),
                };
                Some(text(&now(shown, look())))
            };
            self.serving = Some(tokio::spawn(serve::serve(
                self.door.clone(),
                self.again,
                answer,
            )));
        }
    }

    /// Whether any client may ask.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Stores what to show, if a client may ask for it.
    pub fn show(&self, read: &RecordRead, seen: &Observation, link: Linked, policy: &PolicyRead) {
        if self.serving.is_none() {
            return;
        }
        self.latest.send_replace(Latest::Seen(Box::new(Shown {
            read: read.clone(),
            seen: seen.clone(),
            link: Some(link),
            policy: policy.clone(),
            trouble: false,
            disk: Disk::default(),
        })));
    }

    /// Marks the last state as possibly outdated, because the loop does not look. An agent that
    /// starts in this state has nothing else to show, and an agent that shows nothing would count
    /// as down.
    pub fn trouble(&self) {
        self.latest.send_modify(|latest| match latest {
            Latest::Seen(shown) => shown.trouble = true,
            Latest::Unknown | Latest::Blind => *latest = Latest::Blind,
        });
    }
}

/// The stored state, with the clocks of this moment.
fn now(mut shown: Shown, disk: Disk) -> Shown {
    shown.disk = disk;
    shown.seen.turn.wall = host::os::wall();
    shown.seen.turn.now = host::os::since_boot().unwrap_or(shown.seen.turn.now);
    shown
}

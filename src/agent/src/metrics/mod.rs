//! Prometheus' metrics of this node. They come from the record and from what is seen, so that they survive the reboot that they
//! are about; nothing is counted or kept up to date in between. Who asks is answered, who does not costs nothing.

mod measure;
mod samples;
mod serve;
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
pub use table::{Kind, Metric, PREFIX, TABLE, reference, text};

/// Pause after an address that could not be taken: whoever holds it may let go, and a restart of the agent for its metrics' sake is
/// nobody's wish.
const AGAIN: Duration = Duration::from_secs(60);

/// All that metrics are made of.
#[derive(Clone, Debug)]
pub struct Shown {
    /// The record.
    pub read: RecordRead,
    /// The machine, and the step under way.
    pub seen: Observation,
    /// What the API server says; nothing from who does not ask it.
    pub link: Option<Linked>,
    /// The policy file as it was read last.
    pub policy: PolicyRead,
    /// The loop gets no further: it has not looked since, or could not write down what it decided.
    pub trouble: bool,
    /// Room on the disk.
    pub disk: Disk,
}

/// What who asks is told.
#[derive(Debug)]
enum Latest {
    /// Nothing yet.
    Unknown,
    /// Nothing was ever seen, and the loop gets no further.
    Blind,
    /// What was seen last.
    Seen(Box<Shown>),
}

/// What is known of the other side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linked {
    /// It is reached.
    pub reached: bool,
    /// Nothing new may be begun.
    pub paused: bool,
}

/// Room on the disk, in bytes, as far as it could be asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Disk {
    /// Free on the physical root.
    pub root_free: Option<u64>,
    /// Free on /boot.
    pub boot_free: Option<u64>,
    /// What kernel and initramfs of the running system take on /boot.
    pub boot_kernel: Option<u64>,
}

/// The loop's side: where it leaves what is to be shown.
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
    /// Nothing is served yet. `look` asks for the room on the disk when somebody asks for it.
    pub fn new(look: impl Fn() -> Disk + Send + Sync + 'static) -> Self {
        Self {
            look: Arc::new(look),
            latest: watch::Sender::new(Latest::Unknown),
            door: Listen::Off,
            again: AGAIN,
            serving: None,
        }
    }

    /// Another pause than [`AGAIN`].
    #[must_use]
    pub fn trying_again_after(mut self, pause: Duration) -> Self {
        self.again = pause;
        self
    }

    /// Serves where the policy in force says: a broken one changes nothing, also for an agent that starts over it, or nobody would be told
    /// that it is broken.
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

    /// Whether anybody may ask.
    #[must_use]
    pub const fn is_serving(&self) -> bool {
        self.serving.is_some()
    }

    /// Leaves what is to be shown, where somebody may ask for it.
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

    /// Says of what was shown last that it is not so any more, perhaps: nobody looks. Of an agent that starts like that there is nothing else to say,
    /// and one that says nothing would be taken for one that is down.
    pub fn trouble(&self) {
        self.latest.send_modify(|latest| match latest {
            Latest::Seen(shown) => shown.trouble = true,
            Latest::Unknown | Latest::Blind => *latest = Latest::Blind,
        });
    }
}

/// What was left to show, by the clocks of this moment.
fn now(mut shown: Shown, disk: Disk) -> Shown {
    shown.disk = disk;
    shown.seen.turn.wall = host::os::wall();
    shown.seen.turn.now = host::os::since_boot().unwrap_or(shown.seen.turn.now);
    shown
}

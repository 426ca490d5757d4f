//! The hosts that a machine has. They answer their claims as careen-host does, and the time of each
//! step is noted.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::api::{Api, DynamicObject};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use provider::kinds::{CareenHost, HOSTS, VERSION};
use serde_json::Value;
use testkit::cluster_api::objects;
use tokio::task::JoinHandle;

use super::objects::{SPACE, all_hosts, progress, say};

/// How often a free host looks for a claim, in seconds (`FREE` of careen-host).
const FREE: f64 = 10.0;

/// How often a host looks that is claimed and has not joined (`SOON`).
const SOON: f64 = 3.0;

/// A step in the life of a machine on its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Moment {
    /// The Machine names its bootstrap data.
    Asks,
    /// The claim is on the host.
    Claimed,
    /// The host runs the image and asks for the data.
    AwaitsData,
    /// The host is told of the data.
    Told,
    /// The CareenMachine is deleted.
    Deleted,
    /// The host is told to leave.
    Ordered,
    /// The host is clean after its reboot, which takes no time here.
    Clean,
    /// The claim is gone.
    Free,
}

type Moments = HashMap<(String, Moment), Instant>;

/// All hosts. A drop ends them.
pub struct Rack {
    shared: Arc<Shared>,
    life: JoinHandle<()>,
}

struct Shared {
    hosts: Api<CareenHost>,
    moments: Mutex<Moments>,
    said: Mutex<HashSet<(String, &'static str)>>,
    machines: Mutex<HashMap<String, String>>,
}

impl Drop for Rack {
    fn drop(&mut self) {
        self.life.abort();
    }
}

impl Rack {
    /// Begins to watch the hosts.
    pub fn start(admin: &Client) -> anyhow::Result<Self> {
        let kind = objects::kind(&format!("{HOSTS}/{VERSION}"), "CareenHost")?;
        let watched = objects::api(admin, &kind, Some(SPACE));
        let shared = Arc::new(Shared {
            hosts: all_hosts(admin),
            moments: Mutex::default(),
            said: Mutex::default(),
            machines: Mutex::default(),
        });
        let life = tokio::spawn(live(watched, Arc::clone(&shared)));
        Ok(Self { shared, life })
    }

    /// Notes a moment of a machine, the first time.
    pub fn note(&self, machine: &str, moment: Moment) {
        self.shared.note(machine, moment);
    }

    /// The number of machines that this moment is noted of.
    pub fn count(&self, moment: Moment) -> usize {
        let moments = lock(&self.shared.moments);
        moments.keys().filter(|(_, noted)| *noted == moment).count()
    }

    /// Milliseconds from one moment to another, of each machine that has both.
    pub fn between(&self, from: Moment, to: Moment) -> Vec<f64> {
        let moments = lock(&self.shared.moments);
        let ended = moments.iter().filter(|((_, noted), _)| *noted == to);
        let took = ended.filter_map(|((machine, _), at)| {
            let since = moments.get(&(machine.clone(), from))?;
            Some(at.saturating_duration_since(*since).as_secs_f64() * 1000.0)
        });
        took.collect()
    }

    /// The number of hosts that had a machine.
    pub fn hosts(&self) -> usize {
        lock(&self.shared.machines).len()
    }
}

async fn live(hosts: Api<DynamicObject>, shared: Arc<Shared>) {
    let seen = watcher(hosts, watcher::Config::default()).applied_objects();
    let mut seen = std::pin::pin!(seen);
    while let Some(object) = seen.next().await {
        // An error means that the watch restarts.
        if let Ok(object) = object {
            shared.see(&object);
        }
    }
}

/// What a host does next, and when it looks.
struct Step {
    phase: &'static str,
    step: &'static str,
    pause: f64,
    done: Option<Moment>,
}

impl Shared {
    fn note(&self, machine: &str, moment: Moment) {
        let mut moments = lock(&self.moments);
        let key = (machine.to_owned(), moment);
        moments.entry(key).or_insert_with(Instant::now);
    }

    fn see(self: &Arc<Self>, object: &DynamicObject) {
        let host = object.name_any();
        let text = |at: &str| object.data.pointer(at).and_then(Value::as_str);
        let (Some(id), Some(machine)) = (text("/spec/claim/id"), text("/spec/claim/machine"))
        else {
            let had = lock(&self.machines).get(&host).cloned();
            had.iter().for_each(|had| self.note(had, Moment::Free));
            return;
        };
        lock(&self.machines).insert(host.clone(), machine.to_owned());
        let phase = text("/status/phase").filter(|_| text("/status/observedClaim") == Some(id));
        let is_told = text("/spec/claim/bootstrapHash").is_some();
        let leaves = text("/spec/claim/wanted") == Some("Released");
        if let Some(step) = self.next(machine, phase, is_told, leaves) {
            self.take(step, host, id, machine);
        }
    }

    fn next(
        &self,
        machine: &str,
        phase: Option<&str>,
        is_told: bool,
        leaves: bool,
    ) -> Option<Step> {
        let step = |phase, step, pause, done| {
            Some(Step {
                phase,
                step,
                pause,
                done,
            })
        };
        match phase {
            None => {
                self.note(machine, Moment::Claimed);
                step("Joining", "AwaitData", FREE, Some(Moment::AwaitsData))
            }
            Some("Joining") if is_told => {
                self.note(machine, Moment::Told);
                step("Joined", "Wait", SOON, None)
            }
            Some("Joined") if leaves => {
                self.note(machine, Moment::Ordered);
                step("Cleaning", "Reboot", 0.0, None)
            }
            Some("Cleaning") => step("Available", "Wait", 0.0, Some(Moment::Clean)),
            Some(_) => None,
        }
    }

    /// Does it once for each claim. A host looks at its claim at any time within its pause.
    fn take(self: &Arc<Self>, step: Step, host: String, id: &str, machine: &str) {
        if !lock(&self.said).insert((id.to_owned(), step.phase)) {
            return;
        }
        let (this, id, machine) = (Arc::clone(self), id.to_owned(), machine.to_owned());
        tokio::spawn(async move {
            let pause = Duration::from_secs_f64(step.pause * fastrand::f64());
            tokio::time::sleep(pause).await;
            let status = progress(step.phase, step.step, Some(&id));
            if let Some(done) = step.done {
                this.note(&machine, done);
            }
            if let Err(error) = say(&this.hosts, &host, &status).await {
                eprintln!("{host}: {error:#}");
            }
        });
    }
}

fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

//! The loop: observe, decide, store, perform, report. One task; the step under way, the watch and the reporter run beside it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use host::journal::Store;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tracing::{error, info};
use upgrade::decide::RecordRead;
use upgrade::{
    Act, Finished, Health, Home, Observation, Policy, PolicyRead, Record, SinceBoot, Step,
};
use upgrade::{decide, report};

use crate::cluster::Cluster;
use crate::cluster::watch::{self as node_watch, News};
use crate::hands::{Hands, Local, Machine};
use crate::link::Link;
use crate::notify::{self, Systemd};
use crate::report::{Reporter, Wanted};
use crate::work::{Tools, Work};
use crate::{kubeadm, policy};

/// Pause after the machine could not be seen or the record not be written.
const AGAIN: Duration = Duration::from_secs(10);

/// What the loop is started with.
pub struct Setup<H> {
    /// The node's hands.
    pub hands: H,
    /// The kubelet's kubeconfig.
    pub kubeconfig: PathBuf,
    /// The policy file.
    pub policy: PathBuf,
    /// The record.
    pub journal: Store,
}

/// Runs until `stop` is ready. A step under way is left: whoever starts next finds it in the record.
pub async fn run<H: Hands>(setup: Setup<H>, stop: impl Future<Output = ()>) {
    let mut agent = Agent::start(setup);
    let mut stop = std::pin::pin!(stop);
    agent.systemd.ready();
    loop {
        let wake = agent.turn();
        tokio::select! {
            () = agent.wait(wake) => {}
            () = &mut stop => break,
        }
    }
    agent.systemd.stopping();
    info!("stopping");
}

struct Agent<H> {
    tools: Tools<H>,
    policy_file: PathBuf,
    journal: Store,
    news: UnboundedReceiver<News>,
    link: Link,
    work: Option<Work>,
    finished: Option<Finished>,
    checks: Option<Checks>,
    reporter: Reporter,
    systemd: Systemd,
    watchdog: Option<Duration>,
}

/// The checks of a trial that are running.
struct Checks {
    found: watch::Receiver<Option<Local>>,
    task: JoinHandle<()>,
}

impl Drop for Checks {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// When the loop turns next, if nothing happens before.
enum Wake {
    Now,
    At(Duration),
    OnNews,
}

impl<H: Hands> Agent<H> {
    fn start(setup: Setup<H>) -> Self {
        let cluster = Arc::new(Cluster::new(&setup.kubeconfig));
        let (sender, news) = unbounded_channel();
        tokio::spawn(node_watch::run(Arc::clone(&cluster), sender));
        let reporter = Reporter::start(Arc::clone(&cluster));
        let tools = Tools {
            hands: Arc::new(setup.hands),
            cluster,
            told: reporter.settled(),
        };
        Self {
            tools,
            policy_file: setup.policy,
            journal: setup.journal,
            news,
            link: Link::default(),
            work: None,
            finished: None,
            checks: None,
            reporter,
            systemd: Systemd::from_environment(),
            watchdog: notify::watchdog(),
        }
    }

    /// One turn: from what is seen now to one act.
    fn turn(&mut self) -> Wake {
        let read = self.journal.read();
        let unread = Record::default();
        let machine = match self.tools.hands.look(read.as_ref().unwrap_or(&unread)) {
            Ok(machine) => machine,
            Err(detail) => {
                return self.trouble(&format!("this machine cannot be made out: {detail}"));
            }
        };
        let policy = policy::read(&self.policy_file);
        self.follow_trial(&read, &machine, &policy);
        if self
            .checks
            .as_ref()
            .is_some_and(|checks| checks.found.borrow().is_none())
        {
            // An agent that was restarted late in a trial has not looked yet, and that must not be taken for a bad system.
            return Wake::OnNews;
        }
        let mut seen = self.observe(machine, &read);
        match decide(&seen, &read, &policy).commit(&mut self.journal) {
            Err(error) => self.trouble(&format!("nothing is done: {error}")),
            Ok((record, act)) => {
                self.finished = None;
                let read = record.map_or(read, Ok);
                let wake = self.act(act, &read, policy, &mut seen);
                self.tell(&read, &seen);
                wake
            }
        }
    }

    fn trouble(&mut self, text: &str) -> Wake {
        error!("{text}");
        self.systemd.status(text);
        Wake::At(AGAIN)
    }

    fn act(
        &mut self,
        act: Act,
        read: &RecordRead,
        policy: PolicyRead,
        seen: &mut Observation,
    ) -> Wake {
        match act {
            Act::Begin(step) => {
                let id = read
                    .as_ref()
                    .ok()
                    .and_then(|record| record.upgrade.as_ref())
                    .map(|up| up.id.clone());
                let node = self.link.node.as_ref().map(|node| node.name.clone());
                seen.running = Some(step.clone());
                let policy = Arc::new(policy.unwrap_or_default());
                self.work = Some(Work::begin(self.tools.clone(), step, id, node, policy));
                Wake::Now
            }
            Act::Cancel => {
                self.work.iter().for_each(Work::cancel);
                Wake::OnNews
            }
            Act::Wait(None) => Wake::OnNews,
            Act::Wait(Some(due)) => {
                // One millisecond more: to wake just before the moment would decide the same once more.
                Wake::At(Duration::from_millis(
                    due.0.saturating_sub(seen.now.0).saturating_add(1),
                ))
            }
        }
    }

    fn observe(&self, machine: Machine, read: &RecordRead) -> Observation {
        let health = self.health(&machine, read);
        Observation {
            home: Home::Agent,
            now: machine.now,
            wall: machine.wall,
            boot: machine.boot,
            booted: machine.booted,
            version: machine.version,
            trial: machine.trial,
            deployments: machine.deployments,
            one_shot: machine.one_shot,
            loader: machine.loader,
            control_plane: machine.control_plane,
            machine: machine.machine,
            etc_stale: machine.etc_stale,
            request: self.link.asked.clone(),
            paused: self.link.paused.clone(),
            api: self.link.api.clone(),
            running: self.work.as_ref().map(|work| work.step.clone()),
            finished: self.finished.clone(),
            health,
            integrity: None,
        }
    }

    fn health(&self, machine: &Machine, read: &RecordRead) -> Health {
        let local = self
            .checks
            .as_ref()
            .and_then(|checks| checks.found.borrow().clone());
        let (Some(local), Ok(record)) = (local, read) else {
            return Health::unknown();
        };
        Health {
            runtime: local.runtime,
            kubelet: local.kubelet,
            kubeadm: local.kubeadm,
            ready: self.link.ready(&machine.boot),
            version: self.link.version(&machine.boot, record),
            required: local.required,
        }
    }

    /// Checks run on a trial and no longer.
    fn follow_trial(&mut self, read: &RecordRead, machine: &Machine, policy: &PolicyRead) {
        let upgrade = read
            .as_ref()
            .ok()
            .and_then(|record| record.upgrade.as_ref());
        let ours =
            upgrade.is_some_and(|up| up.to.as_ref().is_some_and(|to| to.same(&machine.booted)));
        let id = read
            .as_ref()
            .ok()
            .and_then(kubeadm::on_trial)
            .filter(|_| ours)
            .cloned();
        match (id, &self.checks) {
            (Some(id), None) => {
                let (sender, found) = watch::channel(None);
                let policy: Arc<Policy> = Arc::new(policy.clone().unwrap_or_default());
                let hands = Arc::clone(&self.tools.hands);
                let task = tokio::spawn(async move { hands.check(id, policy, sender).await });
                self.checks = Some(Checks { found, task });
            }
            (None, Some(_)) => self.checks = None,
            (Some(_), Some(_)) | (None, None) => {}
        }
    }

    fn tell(&mut self, read: &RecordRead, seen: &Observation) {
        let doing = self
            .work
            .as_ref()
            .and_then(|work| work.doing.borrow().clone());
        let report = report(read, seen, doing.as_ref());
        self.systemd.status(&match &report {
            Some(report) => format!(
                "{}: {}",
                report.status.phase,
                crate::report::sentence(report)
            ),
            None => "watching the Node".to_owned(),
        });
        let hurry = matches!(seen.running, Some(Step::Reboot { .. }));
        let (node, reached) = (self.link.node.clone(), self.link.is_reached());
        self.reporter.tell(Wanted {
            report,
            node,
            reached,
            hurry,
        });
    }

    /// Waits for whatever comes first, and takes it in. The watchdog is fed here: a loop that hangs is what it is for.
    async fn wait(&mut self, wake: Wake) {
        let pause = match wake {
            Wake::Now => return,
            Wake::At(pause) => Some(pause),
            Wake::OnNews => None,
        };
        self.systemd.alive();
        let pause = [pause, self.watchdog].into_iter().flatten().min();
        tokio::select! {
            Some(news) = self.news.recv() => self.take(news),
            ended = working(&mut self.work) => if ended.is_some() {
                self.work = None;
                self.finished = ended;
            },
            () = checked(&mut self.checks) => {}
            () = sleeping(pause) => {}
        }
    }

    fn take(&mut self, news: News) {
        let now = host::os::since_boot().unwrap_or(SinceBoot(0));
        self.link.take(news, now);
    }
}

async fn working(work: &mut Option<Work>) -> Option<Finished> {
    match work {
        Some(work) => work.news().await,
        None => std::future::pending().await,
    }
}

async fn checked(checks: &mut Option<Checks>) {
    let changed = match checks {
        Some(checks) => checks.found.changed().await,
        None => std::future::pending().await,
    };
    if changed.is_err() {
        std::future::pending::<()>().await;
    }
}

async fn sleeping(pause: Option<Duration>) {
    match pause {
        Some(pause) => tokio::time::sleep(pause).await,
        None => std::future::pending().await,
    }
}

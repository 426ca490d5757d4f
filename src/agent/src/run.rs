//! The loop: observe, decide, store, perform, report. The loop is one task. The current step, the
//! watch and the reporter run concurrently with it.

mod leave;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use host::record::{Store, StoreError};
use systemd::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;
use tracing::{error, info};
use upgrade::decide::RecordRead;
use upgrade::names::VOLUMES_NOTE;
use upgrade::policy::in_force;
use upgrade::report::hindered::{unseen, unwritten};
use upgrade::report::{Moment, idle};
use upgrade::{
    Act, Doing, Finished, Membership, Observation, Outcome, PolicyRead, Record, SinceBoot, Step,
};
use upgrade::{Reason, Report, decide, report};

use crate::access::NodeAccess;
use crate::cluster::Cluster;
use crate::cluster::watch::{self as node_watch, News};
use crate::log::Chronicle;
use crate::metrics::{Linked, Metrics};
use crate::node_state::Link;
use crate::observe::{Around, observation};
use crate::plan::{PlanInput, Planner};
use crate::policy_file::PolicyFile;
use crate::report::{Reporter, ToReport};
use crate::runner::{Ending, Known, Work};
use crate::step::{Held, Tools};
use crate::trial::Trial;

/// How often an agent without a Node to watch looks for what careen-host asks.
const LOOK_FOR_A_REQUEST: Duration = Duration::from_secs(5);

/// Pause after the agent failed to observe the machine or to write the record.
const AGAIN: Duration = Duration::from_secs(10);

/// What the loop needs to start.
pub struct Setup<H> {
    /// The node.
    pub node: H,
    /// The kubelet's kubeconfig.
    pub kubeconfig: PathBuf,
    /// How long the API server may be silent before it counts as unreachable:
    /// [`SILENCE`](crate::cluster::SILENCE), except in tests.
    pub silence: Duration,
    /// The policy file.
    pub policy: PathBuf,
    /// The record.
    pub store: Store,
}

/// Runs until `stop` is ready. Then continues while an answer is still to be reported, until `stop`
/// is ready a second time. A step that is under way is left; the next agent finds it in the record.
pub async fn run<H: NodeAccess>(setup: Setup<H>, mut stop: impl AsyncFnMut()) {
    let mut agent = Agent::start(setup);
    agent.systemd.ready();
    agent.serve(stop()).await;
    agent.leave(stop()).await;
}

struct Agent<H> {
    tools: Tools<H>,
    policy: PolicyFile,
    store: Store,
    news: UnboundedReceiver<News>,
    link: Link,
    work: Option<Work>,
    finished: Option<Finished>,
    /// When a request was refused last.
    refused: Option<SinceBoot>,
    /// What the last turn knew. Progress reports use it, because progress changes nothing else.
    known: Option<(RecordRead, Observation)>,
    trial: Trial,
    reporter: Reporter,
    planner: Planner,
    metrics: Metrics,
    chronicle: Chronicle,
    systemd: Notify,
    watchdog: Option<Duration>,
}

/// The current step has made progress.
struct Progress;

/// When the loop turns next, if nothing happens earlier.
enum Wake {
    At(Duration),
    OnNews,
}

impl Wake {
    /// The same, at the latest after this time.
    fn at_most(self, limit: Option<Duration>) -> Self {
        match (self, limit) {
            (Self::At(pause), Some(limit)) => Self::At(pause.min(limit)),
            (Self::OnNews, Some(limit)) => Self::At(limit),
            (wake, None) => wake,
        }
    }
}

impl<H: NodeAccess> Agent<H> {
    fn start(setup: Setup<H>) -> Self {
        let cluster = Arc::new(Cluster::new(&setup.kubeconfig, setup.silence));
        let (sender, news) = unbounded_channel();
        tokio::spawn(node_watch::run(Arc::clone(&cluster), sender));
        let reporter = Reporter::start(Arc::clone(&cluster));
        let node = Arc::new(setup.node);
        let looker = Arc::clone(&node);
        let tools = Tools {
            node,
            cluster,
            told: reporter.settled(),
            held: Held::default(),
            volumes: volumes_note(setup.store.folder()),
        };
        Self {
            tools,
            policy: PolicyFile::new(setup.policy, setup.store.folder()),
            store: setup.store,
            news,
            link: Link::default(),
            work: None,
            finished: None,
            refused: None,
            known: None,
            trial: Trial::default(),
            planner: Planner::default(),
            metrics: Metrics::new(move || looker.disk()),
            chronicle: Chronicle::default(),
            reporter,
            systemd: Notify::from_environment(),
            watchdog: systemd::watchdog(),
        }
    }

    /// Turns until `stop` is ready.
    async fn serve(&mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let wake = self.turn();
            // An agent that is asked to stop begins nothing more, not even what the end of a step
            // would lead to.
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.wait(wake) => {}
            }
        }
    }

    /// One turn: from the current observation to one act.
    fn turn(&mut self) -> Wake {
        let read = self.store.read();
        let unread = Record::default();
        // The policy is read before the machine, because the agent also acts on a machine that
        // cannot be observed.
        let policy = self.policy.read();
        self.metrics.follow(&policy);
        let machine = match self.tools.node.look(read.as_ref().unwrap_or(&unread)) {
            Ok(machine) => machine,
            Err(detail) => return self.unseen(&read, detail),
        };
        self.trial.follow(&self.tools, &read, &machine, &policy);
        let node = self.link.node.as_ref().map(|node| node.name.as_str());
        self.trial.follow_node(&self.tools, &read, node);
        if self.trial.is_looking() {
            return Wake::OnNews;
        }
        let mut seen = observation(machine, self.around(), &read);
        match decide(&seen, &read, &policy).commit(&mut self.store) {
            Err(error) => {
                self.metrics.show(&read, &seen, self.linked(), &policy);
                self.unwritten(&error, &read, &seen)
            }
            Ok((record, act)) => {
                self.finished = None;
                if refuses(&read, record.as_ref()) {
                    self.refused = Some(seen.turn.now);
                }
                let read = record.map_or(read, Ok);
                let wake = self.act(act, &read, policy.clone(), &mut seen);
                let wake = wake.at_most(patience(seen.node.membership));
                self.plan(&read, &policy, &seen);
                self.metrics.show(&read, &seen, self.linked(), &policy);
                self.tell(&read, &seen);
                self.known = Some((read, seen));
                wake
            }
        }
    }

    /// Reports the failure on the Node too. Otherwise the Node would show the upgrade's earlier
    /// progress forever.
    fn unseen(&mut self, read: &RecordRead, detail: String) -> Wake {
        let why = Reason::MachineUnseen { detail };
        error!("{why}");
        let boot = host::os::boot_id(Path::new(host::os::BOOT_ID)).ok();
        let (request, paused) = (self.link.asked.clone(), self.link.paused.clone());
        let moment = Moment {
            boot: boot.as_ref(),
            booted: None,
            request: &request,
            paused: paused.as_ref(),
            strays: &self.link.strays,
            running: self.work.as_ref().map(|work| &work.step),
        };
        let report = unseen(read, moment, self.doing().as_ref(), &why);
        self.known = None;
        self.say(report, false);
        self.systemd.status(&why.to_string());
        self.metrics.trouble();
        Wake::At(AGAIN)
    }

    /// The next turn makes the same observation again. The loop keeps a step that has ended for
    /// that turn.
    fn unwritten(&mut self, error: &StoreError, read: &RecordRead, seen: &Observation) -> Wake {
        let why = error.reason();
        let doing = self.doing();
        let report = unwritten(read, seen, doing.as_ref(), &why);
        self.say(Some(report), is_rebooting(seen));
        self.metrics.trouble();
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
                let upgrade = read
                    .as_ref()
                    .ok()
                    .and_then(|record| record.upgrade.as_ref());
                let node = self.link.node.as_ref().map(|node| node.name.clone());
                seen.turn.running = Some(step.clone());
                let policy = Arc::new(in_force(&policy).clone());
                let server = self.link.version_of_the_server();
                let membership = seen.node.membership;
                let known = Known {
                    node,
                    membership,
                    server,
                };
                self.work = Some(Work::begin(
                    self.tools.clone(),
                    step,
                    upgrade,
                    known,
                    policy,
                ));
                Wake::OnNews
            }
            Act::Cancel => {
                self.work.iter().for_each(Work::cancel);
                Wake::OnNews
            }
            Act::Wait(None) => Wake::OnNews,
            Act::Wait(Some(due)) => {
                // Add one millisecond: a wake-up just before the moment would make the same
                // decision again.
                Wake::At(Duration::from_millis(
                    due.0.saturating_sub(seen.turn.now.0).saturating_add(1),
                ))
            }
        }
    }

    /// Runs after the act: a step that has just begun is an upgrade under way, and a plan gives way
    /// to it.
    fn plan(&mut self, read: &RecordRead, policy: &PolicyRead, seen: &Observation) {
        let asked = PlanInput {
            node: self.link.node.as_deref(),
            listing: self.link.listings,
            read,
            policy,
            seen,
        };
        self.planner.follow(&self.tools, &asked);
    }

    const fn linked(&self) -> Linked {
        Linked {
            reached: self.link.is_reached(),
            paused: self.link.paused.is_some(),
        }
    }

    fn around(&self) -> Around<'_> {
        Around {
            link: &self.link,
            running: self.work.as_ref().map(|work| work.step.clone()),
            finished: self.finished.clone(),
            refused: self.refused,
            local: self.trial.found(),
            offer: self.trial.offer(),
        }
    }

    fn doing(&self) -> Option<Doing> {
        let work = self.work.as_ref()?;
        work.doing.borrow().clone()
    }

    fn tell(&mut self, read: &RecordRead, seen: &Observation) {
        let doing = self.doing();
        let record = read.as_ref().ok();
        let why = record.and_then(|record| self.link.hindrance(record, seen));
        // The Node shows an outdated report for a node that was never asked.
        let idle = || (record.is_some() && self.link.says_idle()).then(|| idle(seen));
        let report = match (report(read, seen, doing.as_ref()).or_else(idle), why) {
            (Some(report), Some(why)) if report.now().is_none() => Some(report.hindered(&why)),
            (report, _) => report,
        };
        self.say(report, is_rebooting(seen));
    }

    fn say(&mut self, report: Option<Report>, hurry: bool) {
        let node = self.link.node.as_ref();
        if let Some(report) = &report {
            let name = node.map(|node| node.name.as_str());
            self.chronicle.tell(report, name);
        }
        self.systemd.status(&match &report {
            Some(report) => format!(
                "{}: {}",
                report.status.phase,
                crate::report::sentence(report)
            ),
            None => "watching the Node".to_owned(),
        });
        self.reporter.tell(self.wanted(report, hurry));
    }

    fn wanted(&self, report: Option<Report>, hurry: bool) -> ToReport {
        ToReport {
            report,
            node: self.link.node.clone(),
            listing: self.link.listings,
            reached: self.link.is_reached(),
            hurry,
        }
    }

    /// Waits for the first event and processes it. The watchdog is fed here, because it must catch
    /// a loop that hangs.
    async fn wait(&mut self, wake: Wake) {
        let pause = match wake {
            Wake::At(pause) => Some(pause),
            Wake::OnNews => None,
        };
        self.systemd.alive();
        let pause = [pause, self.watchdog].into_iter().flatten().min();
        let until = pause.map(|pause| Instant::now() + pause);
        while let Some(Progress) = self.news(until).await {
            self.tell_progress();
        }
    }

    /// Processes the next event. Every event except progress asks for a turn.
    async fn news(&mut self, until: Option<Instant>) -> Option<Progress> {
        tokio::select! {
            Some(news) = self.news.recv() => self.take(news),
            ended = working(&mut self.work) => match ended {
                Some(ended) => self.end(ended),
                None => return Some(Progress),
            },
            () = self.trial.news() => {}
            () = self.planner.news() => {}
            () = sleeping(until) => {}
        }
        None
    }

    /// Reports progress without looking at the machine. A look twice a second took resources from
    /// the step itself on a small machine.
    fn tell_progress(&mut self) {
        if let Some((read, seen)) = self.known.take() {
            self.tell(&read, &seen);
            self.known = Some((read, seen));
        }
    }

    fn end(&mut self, Ending { finished, server }: Ending) {
        if let Some(version) = server.filter(|_| self.link.is_reached()) {
            info!("the API server is {version} now");
            self.take(News::Version(version));
        }
        let id = self.work.take().and_then(|work| work.id);
        if let (Step::Drain { .. }, Outcome::Done(_), Some(id)) =
            (&finished.step, &finished.outcome, id)
        {
            self.link.cordoned(&id);
        }
        if let (Step::Kubeadm, Outcome::Done(_)) = (&finished.step, &finished.outcome) {
            // The last results of the checks are older than this and still say that kubeadm is
            // missing. If the loop believed them, it would run kubeadm and restart the kubelet
            // again.
            self.trial = Trial::default();
            self.link.kubelet_restarted();
        }
        self.finished = Some(finished);
    }

    fn take(&mut self, news: News) {
        let now = host::os::since_boot().unwrap_or(SinceBoot(0));
        self.link.take(news, now);
    }
}

/// The file in this folder, which is the record's.
fn volumes_note(folder: &Path) -> Arc<Path> {
    let name = Path::new(VOLUMES_NOTE).file_name();
    folder.join(name.unwrap_or_default()).into()
}

/// Whether the next record refuses a request.
fn refuses(read: &RecordRead, next: Option<&Record>) -> bool {
    let answered = |next: &Record| {
        read.as_ref()
            .is_ok_and(|read| read.answered < next.answered)
    };
    next.is_some_and(|next| next.refused.is_some() && answered(next))
}

/// The longest pause between two looks. A Node is watched, and the files of careen-host are not.
const fn patience(membership: Membership) -> Option<Duration> {
    match membership {
        Membership::Joined => None,
        Membership::Unjoined => Some(LOOK_FOR_A_REQUEST),
    }
}

/// Before a reboot, the agent sends pending reports immediately.
const fn is_rebooting(seen: &Observation) -> bool {
    matches!(seen.turn.running, Some(Step::Reboot { .. }))
}

async fn working(work: &mut Option<Work>) -> Option<Ending> {
    match work {
        Some(work) => work.news().await,
        None => std::future::pending().await,
    }
}

async fn sleeping(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

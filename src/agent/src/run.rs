//! The loop: observe, decide, store, perform, report. One task; the step under way, the watch and the reporter run beside it.

mod leave;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use host::journal::{Store, StoreError};
use systemd::Notify;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::Instant;
use tracing::error;
use upgrade::decide::RecordRead;
use upgrade::policy::in_force;
use upgrade::report::{Moment, idle, unseen, unwritten};
use upgrade::{Act, Doing, Finished, Observation, Outcome, PolicyRead, Record, SinceBoot, Step};
use upgrade::{Reason, Report, decide, report};

use crate::cluster::Cluster;
use crate::cluster::watch::{self as node_watch, News};
use crate::hands::Hands;
use crate::in_force::PolicyFile;
use crate::link::Link;
use crate::log::Chronicle;
use crate::metrics::{Linked, Metrics};
use crate::observe::{Around, observation};
use crate::plan::{Asked, Planner};
use crate::report::{Reporter, Wanted};
use crate::step::Tools;
use crate::trial::Trial;
use crate::work::Work;

/// Pause after the machine could not be seen or the record not be written.
const AGAIN: Duration = Duration::from_secs(10);

/// What the loop is started with.
pub struct Setup<H> {
    /// The node's hands.
    pub hands: H,
    /// The kubelet's kubeconfig.
    pub kubeconfig: PathBuf,
    /// How long the API server may say nothing until it counts as away: [`SILENCE`](crate::cluster::SILENCE) but in tests.
    pub silence: Duration,
    /// The policy file.
    pub policy: PathBuf,
    /// The record.
    pub journal: Store,
}

/// Runs until `stop` is ready, and then as long as an answer is still to be told and `stop` is not ready once more. A step under way is left:
/// whoever starts next finds it in the record.
pub async fn run<H: Hands>(setup: Setup<H>, mut stop: impl AsyncFnMut()) {
    let mut agent = Agent::start(setup);
    agent.systemd.ready();
    agent.serve(stop()).await;
    agent.leave(stop()).await;
}

struct Agent<H> {
    tools: Tools<H>,
    policy: PolicyFile,
    journal: Store,
    news: UnboundedReceiver<News>,
    link: Link,
    work: Option<Work>,
    finished: Option<Finished>,
    /// What the last turn knew: progress is told by it, for it changes nothing else.
    known: Option<(RecordRead, Observation)>,
    trial: Trial,
    reporter: Reporter,
    planner: Planner,
    metrics: Metrics,
    chronicle: Chronicle,
    systemd: Notify,
    watchdog: Option<Duration>,
}

/// The step under way has come further.
struct Progress;

/// When the loop turns next, if nothing happens before.
enum Wake {
    At(Duration),
    OnNews,
}

impl<H: Hands> Agent<H> {
    fn start(setup: Setup<H>) -> Self {
        let cluster = Arc::new(Cluster::new(&setup.kubeconfig, setup.silence));
        let (sender, news) = unbounded_channel();
        tokio::spawn(node_watch::run(Arc::clone(&cluster), sender));
        let reporter = Reporter::start(Arc::clone(&cluster));
        let hands = Arc::new(setup.hands);
        let looker = Arc::clone(&hands);
        let tools = Tools {
            hands,
            cluster,
            told: reporter.settled(),
        };
        Self {
            tools,
            policy: PolicyFile::new(setup.policy, setup.journal.folder()),
            journal: setup.journal,
            news,
            link: Link::default(),
            work: None,
            finished: None,
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

    /// Turns until it is to stop.
    async fn serve(&mut self, stop: impl Future<Output = ()>) {
        let mut stop = std::pin::pin!(stop);
        loop {
            let wake = self.turn();
            // Whoever is asked to stop begins nothing more, not even what a step that has just ended would lead to.
            tokio::select! {
                biased;
                () = &mut stop => return,
                () = self.wait(wake) => {}
            }
        }
    }

    /// One turn: from what is seen now to one act.
    fn turn(&mut self) -> Wake {
        let read = self.journal.read();
        let unread = Record::default();
        // Before the look at the machine: one that cannot be seen is something to serve.
        let policy = self.policy.read();
        self.metrics.follow(&policy);
        let machine = match self.tools.hands.look(read.as_ref().unwrap_or(&unread)) {
            Ok(machine) => machine,
            Err(detail) => return self.unseen(&read, detail),
        };
        self.trial
            .follow(&self.tools.hands, &read, &machine, &policy);
        if self.trial.is_looking() {
            return Wake::OnNews;
        }
        let mut seen = observation(machine, self.around(), &read);
        match decide(&seen, &read, &policy).commit(&mut self.journal) {
            Err(error) => {
                self.metrics.show(&read, &seen, self.linked(), &policy);
                self.unwritten(&error, &read, &seen)
            }
            Ok((record, act)) => {
                self.finished = None;
                let read = record.map_or(read, Ok);
                let wake = self.act(act, &read, policy.clone(), &mut seen);
                self.plan(&read, &policy, &seen);
                self.metrics.show(&read, &seen, self.linked(), &policy);
                self.tell(&read, &seen);
                self.known = Some((read, seen));
                wake
            }
        }
    }

    /// The Node hears of it too: it would say for ever how far the upgrade was before.
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

    /// What was found in this turn is found again in the next one; a step that has ended is kept for it.
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
                self.work = Some(Work::begin(self.tools.clone(), step, upgrade, node, policy));
                Wake::OnNews
            }
            Act::Cancel => {
                self.work.iter().for_each(Work::cancel);
                Wake::OnNews
            }
            Act::Wait(None) => Wake::OnNews,
            Act::Wait(Some(due)) => {
                // One millisecond more: to wake just before the moment would decide the same once more.
                Wake::At(Duration::from_millis(
                    due.0.saturating_sub(seen.turn.now.0).saturating_add(1),
                ))
            }
        }
    }

    /// After the act: what has just been begun is an upgrade under way, which a plan makes way for.
    fn plan(&mut self, read: &RecordRead, policy: &PolicyRead, seen: &Observation) {
        let asked = Asked {
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
            local: self.trial.found(),
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
        // A node that was never asked has said something that is no more.
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

    fn wanted(&self, report: Option<Report>, hurry: bool) -> Wanted {
        Wanted {
            report,
            node: self.link.node.clone(),
            listing: self.link.listings,
            reached: self.link.is_reached(),
            hurry,
        }
    }

    /// Waits for whatever comes first, and takes it in. The watchdog is fed here: a loop that hangs is what it is for.
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

    /// The next thing that happens; all but progress asks for a turn.
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

    /// Without a look at the machine: twice a second, that took from a small machine what the step itself could have had.
    fn tell_progress(&mut self) {
        if let Some((read, seen)) = self.known.take() {
            self.tell(&read, &seen);
            self.known = Some((read, seen));
        }
    }

    fn end(&mut self, finished: Finished) {
        let id = self.work.take().and_then(|work| work.id);
        if let (Step::Drain { .. }, Outcome::Done(_), Some(id)) =
            (&finished.step, &finished.outcome, id)
        {
            self.link.cordoned(&id);
        }
        if let (Step::Kubeadm, Outcome::Done(_)) = (&finished.step, &finished.outcome) {
            // What the checks found last is older than this and still says that kubeadm is missing; believed, it would be run
            // and the kubelet restarted once more.
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

/// What is left to tell is told now.
const fn is_rebooting(seen: &Observation) -> bool {
    matches!(seen.turn.running, Some(Step::Reboot { .. }))
}

async fn working(work: &mut Option<Work>) -> Option<Finished> {
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

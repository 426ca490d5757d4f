//! The lock that keeps others from rebooting while we write, as logind and systemd see it, on a bus
//! of the test's own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::io::{ErrorKind, PipeReader, Read, pipe};
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex};

use agent::access::{Errand, NodeAccess};
use agent::node::real::Node;
use agent::task::{Task, Verb};
use host::Places;
use nix::fcntl::{FcntlArg, OFlag, fcntl};
use tokio::sync::watch;
use upgrade::Policy;
use upgrade::step::StepKind;
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, play};

const LOGIND: &str = "org.freedesktop.login1";
const SYSTEMD: &str = "org.freedesktop.systemd1";

#[test]
fn undo_holds_a_reboot_inhibitor_and_releases_it() {
    on_a_bus_of_its_own("played_an_undo");
}

#[test]
fn others_may_reboot_during_a_fetch() {
    on_a_bus_of_its_own("played_a_fetch");
}

#[test]
fn our_own_reboot_is_not_held_up_by_ourselves() {
    on_a_bus_of_its_own("played_a_reboot_behind_an_undo");
}

/// What was asked for, in its order, each with the number of our locks that were held at that time.
#[derive(Default)]
struct Heard {
    calls: Vec<(String, usize)>,
    locks: Vec<PipeReader>,
}

impl Heard {
    fn held(&mut self) -> usize {
        let open = self.locks.iter_mut().map(is_open);
        open.filter(|open| *open).count()
    }

    fn hears(&mut self, call: &str) {
        let held = self.held();
        self.calls.push((call.to_owned(), held));
    }
}

/// Whether somebody has the other end, as logind finds out that a lock is given back.
fn is_open(lock: &mut PipeReader) -> bool {
    let read = lock.read(&mut [0]);
    read.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

#[derive(Clone, Default)]
struct Machine(Arc<Mutex<Heard>>);

impl Machine {
    /// Begins to play logind and systemd. Nothing where this test runs without a bus of its own.
    async fn play() -> Option<Self> {
        played::daemon()?;
        let machine = Self::default();
        play(LOGIND, machine.clone()).await;
        play(SYSTEMD, machine.clone()).await;
        Some(machine)
    }

    fn heard(&self) -> Vec<(String, usize)> {
        self.0.lock().unwrap().calls.clone()
    }

    fn held(&self) -> usize {
        self.0.lock().unwrap().held()
    }

    fn lock(&self) -> OwnedFd {
        let (theirs, ours) = pipe().unwrap();
        fcntl(&theirs, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).unwrap();
        self.0.lock().unwrap().locks.push(theirs);
        ours.into()
    }
}

impl Answer for Machine {
    async fn to(&mut self, player: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        let member = header.member().unwrap().as_str();
        self.0.lock().unwrap().hears(member);
        if member != "Inhibit" {
            // Far enough: what follows is of no matter here.
            let name = "org.freedesktop.DBus.Error.Failed";
            return player.reply_error(&header, name, &"played").await;
        }
        let asked: (String, String, String, String) = call.body().deserialize()?;
        assert_eq!(
            (asked.0.as_str(), asked.1.as_str()),
            ("shutdown", "careen-agent")
        );
        assert_eq!(asked.3, "block", "a delay would be over in seconds");
        player
            .reply(&header, &zbus::OwnedFd::from(self.lock()))
            .await
    }
}

async fn perform(step: StepKind, task: Task) {
    let folder = tempfile::tempdir().unwrap();
    let (_cancel, cancel) = watch::channel(false);
    let (doing, _told) = watch::channel(None);
    let errand = Errand {
        step,
        id: Some("u1".parse().unwrap()),
        policy: Arc::new(Policy::default()),
        cancel,
        doing,
    };
    let done = Node::new(Places::running(folder.path()))
        .perform(task, errand)
        .await;
    done.expect_err("systemd and logind refuse");
}

async fn undo() {
    let undo = Task::Deploy(Verb::Undo { commit: None });
    perform(StepKind::Undo, undo).await;
}

fn call(name: &str, held: usize) -> (String, usize) {
    (name.to_owned(), held)
}

#[tokio::test]
async fn played_an_undo() {
    let Some(machine) = Machine::play().await else {
        return;
    };
    undo().await;
    let wanted = [call("Inhibit", 0), call("ListUnitsByPatterns", 1)];
    assert_eq!(machine.heard(), wanted);
    assert_eq!(machine.held(), 0);
}

#[tokio::test]
async fn played_a_fetch() {
    let Some(machine) = Machine::play().await else {
        return;
    };
    let target = "ostree:images:os/stable".parse().unwrap();
    let fetch = Task::Deploy(Verb::Fetch { target });
    perform(StepKind::Fetch, fetch).await;
    assert_eq!(machine.heard(), [call("GetUnit", 0)]);
}

#[tokio::test]
async fn played_a_reboot_behind_an_undo() {
    let Some(machine) = Machine::play().await else {
        return;
    };
    undo().await;
    perform(StepKind::Reboot, Task::Reboot { force: false }).await;
    let heard = machine.heard();
    let reboot = heard.iter().position(|(name, _)| name == "RebootWithFlags");
    let reboot = reboot.expect("it is asked for");
    assert_eq!(heard[reboot].1, 0, "{heard:?}");
    let locks = heard.iter().filter(|(name, _)| name == "Inhibit");
    assert_eq!(locks.count(), 1, "none for the reboot itself");
}

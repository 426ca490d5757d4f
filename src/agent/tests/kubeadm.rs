//! `kubeadm upgrade node` run late, as systemd hears of it, on a bus of the test's own with a
//! systemd that is played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::path::{Path, PathBuf};

use agent::kubeadm::Notes;
use agent::step::kubeadm::again_noting;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use upgrade::names::{KUBEADM_UNIT, KUBELET_UNIT};
use upgrade::observe::Check;
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, path, play};

const SYSTEMD: &str = "org.freedesktop.systemd1";

#[test]
fn late_kubeadm_success_restarts_the_kubelet_once() {
    on_a_bus_of_its_own("played_a_systemd_that_answers");
}

#[test]
fn next_agent_does_the_kubelet_restart_a_killed_one_left() {
    on_a_bus_of_its_own("played_a_systemd_whose_caller_is_killed");
}

#[tokio::test]
async fn played_a_systemd_that_answers() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut asked) = systemd(folder.path(), true).await else {
        return;
    };
    again_noting(&notes(folder.path())).await.unwrap();
    assert_eq!(asked.recv().await.as_deref(), Some(KUBEADM_UNIT));
    assert_eq!(asked.recv().await.as_deref(), Some(KUBELET_UNIT));
    assert_eq!(notes(folder.path()).check(), Some(Check::Pass));
}

#[tokio::test]
async fn played_a_systemd_whose_caller_is_killed() {
    let folder = tempfile::tempdir().unwrap();
    let Some(mut asked) = systemd(folder.path(), false).await else {
        return;
    };
    let path = folder.path().to_owned();
    let killed = tokio::spawn(async move { again_noting(&notes(&path)).await });
    assert_eq!(asked.recv().await.as_deref(), Some(KUBEADM_UNIT));
    killed.abort();
    assert!(killed.await.is_err(), "it waits for systemd's answer");

    let found = notes(folder.path()).check();
    assert!(matches!(found, Some(Check::Fail(_))), "{found:?}");
    again_noting(&notes(folder.path())).await.unwrap();
    let next = asked.recv().await;
    assert_eq!(next.as_deref(), Some(KUBELET_UNIT), "kubeadm is run once");
    assert_eq!(notes(folder.path()).check(), Some(Check::Pass));
}

fn notes(folder: &Path) -> Notes {
    Notes::below(folder, &"u1".parse().unwrap())
}

/// Begins to play; each unit whose restart is asked for can be received. Nothing where this test
/// runs without a bus of its own.
async fn systemd(folder: &Path, answers_first: bool) -> Option<UnboundedReceiver<String>> {
    played::daemon()?;
    let (heard, asked) = unbounded_channel();
    let player = Systemd {
        folder: folder.to_owned(),
        answers: answers_first,
        heard,
    };
    play(SYSTEMD, player).await;
    Some(asked)
}

struct Systemd {
    folder: PathBuf,
    /// All but the first call is answered in any case.
    answers: bool,
    heard: UnboundedSender<String>,
}

impl Answer for Systemd {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        let member = header.member().unwrap().as_str();
        assert_eq!(member, "RestartUnit");
        let (unit, _mode): (String, String) = call.body().deserialize()?;
        if unit == KUBEADM_UNIT {
            // As the unit does.
            notes(&self.folder).succeed().unwrap();
        }
        self.heard.send(unit).unwrap();
        let answers = std::mem::replace(&mut self.answers, true);
        if !answers {
            return Ok(());
        }
        systemd.reply(&header, &path()).await
    }
}

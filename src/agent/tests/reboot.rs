//! The reboot as logind hears it, on a bus of the test's own with a logind that is played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::time::Duration;

use agent::step::reboot;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use systemd::Bus;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, play};

const LOGIND: &str = "org.freedesktop.login1";
const PATH: &str = "/org/freedesktop/login1";
const MANAGER: &str = "org.freedesktop.login1.Manager";

/// `systemctl reboot` asks for kexec where a kernel is loaded, and for a soft reboot where
/// /run/nextroot is mounted: both are flags of this call (systemd's src/shared/logind-util.h).
/// Neither would go through GRUB, nor be a trial.
#[test]
fn a_reboot_is_asked_for_without_kexec_and_without_a_soft_one() {
    on_a_bus_of_its_own("played_a_logind_that_reboots");
}

#[test]
fn a_reboot_that_is_refused_names_who_holds_it_up() {
    on_a_bus_of_its_own("played_a_logind_that_refuses");
}

/// A daemon that is stopped takes every message and answers none, as one that hangs does.
#[test]
fn hung_bus_fails_the_reboot_request_after_its_timeout() {
    on_a_bus_of_its_own("played_a_bus_that_hangs");
}

#[tokio::test]
async fn played_a_bus_that_hangs() {
    let Some(daemon) = played::daemon() else {
        return;
    };
    let bus = Bus::system().await.unwrap();
    let bus = bus.with_answer(Duration::from_millis(50));
    kill(Pid::from_raw(daemon), Signal::SIGSTOP).unwrap();
    let asked = reboot::ask_on(&bus);
    let ended = tokio::time::timeout(Duration::from_secs(10), asked).await;
    let reason = ended.expect("it waits for ever").unwrap_err().to_string();
    assert!(reason.contains("D-Bus did not answer in 50ms"), "{reason}");
}

#[tokio::test]
async fn played_a_logind_that_reboots() {
    let Some(mut asked) = logind(true).await else {
        return;
    };
    assert_eq!(reboot::ask().await, Ok(()));
    assert_eq!(asked.recv().await, Some(0));
}

#[tokio::test]
async fn played_a_logind_that_refuses() {
    let Some(_asked) = logind(false).await else {
        return;
    };
    let reason = reboot::ask().await.unwrap_err().to_string();
    assert!(reason.contains("apt (half an upgrade)"), "{reason}");
    assert!(!reason.contains("somebody who delays"), "{reason}");
}

/// Begins to play; each reboot's flags can be received. Nothing where this test runs without a bus
/// of its own.
async fn logind(reboots: bool) -> Option<UnboundedReceiver<u64>> {
    played::daemon()?;
    let (heard, asked) = unbounded_channel();
    play(LOGIND, Logind { reboots, heard }).await;
    Some(asked)
}

struct Logind {
    reboots: bool,
    heard: UnboundedSender<u64>,
}

impl Answer for Logind {
    async fn to(&mut self, logind: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        let member = header.member().unwrap().as_str();
        match (member, self.reboots) {
            ("RebootWithFlags", true) => {
                logind.reply(&header, &()).await?;
                self.heard.send(call.body().deserialize()?).unwrap();
                let begins = &(true,);
                let to = None::<&str>;
                logind
                    .emit_signal(to, PATH, MANAGER, "PrepareForShutdown", begins)
                    .await
            }
            ("RebootWithFlags", false) => {
                let name = "org.freedesktop.login1.BlockedByInhibitorLock";
                logind.reply_error(&header, name, &"it is blocked").await
            }
            ("ListInhibitors", _) => {
                let lock = |who, why, mode| ("shutdown", who, why, mode, 0_u32, 1_u32);
                let all = vec![
                    lock("apt", "half an upgrade", "block"),
                    lock("somebody who delays", "logs", "delay"),
                ];
                logind.reply(&header, &all).await
            }
            other => panic!("logind is asked for {other:?}"),
        }
    }
}

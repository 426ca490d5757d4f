//! The reboot as logind hears it, on a bus of the test's own with a logind that is played. Needs dbus-daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use agent::node::reboot;
use agent::node::systemd::Bus;
use futures::StreamExt;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use zbus::message::Type;
use zbus::{Connection, Message, MessageStream};

const LOGIND: &str = "org.freedesktop.login1";
const PATH: &str = "/org/freedesktop/login1";
const MANAGER: &str = "org.freedesktop.login1.Manager";

/// Where libdbus and zbus look for the system's bus.
const BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";
/// Set for the test that runs on our bus: the process of its dbus-daemon.
const PLAYED: &str = "CAREEN_LOGIND_IS_PLAYED";

/// A bus, until it is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bus() -> (Daemon, String) {
    let mut child = Command::new("dbus-daemon")
        .args(["--session", "--nofork", "--print-address=1"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("dbus-daemon must be there: `make setup` installs it");
    let mut address = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut address).unwrap();
    (Daemon(child), address.trim().to_owned())
}

/// Runs one of the tests below with our bus for the system's.
fn on_a_bus_of_its_own(played: &str) {
    let (daemon, address) = bus();
    let test = std::env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", played])
        .env(BUS, address)
        .env(PLAYED, daemon.0.id().to_string())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// `systemctl reboot` asks for kexec where a kernel is loaded, and for a soft reboot where /run/nextroot is mounted: both are flags
/// of this call (systemd's src/shared/logind-util.h). Neither would go through GRUB, nor be a trial.
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
fn a_bus_that_hangs_is_waited_for_as_long_as_an_answer_may_take_and_named() {
    on_a_bus_of_its_own("played_a_bus_that_hangs");
}

#[tokio::test]
async fn played_a_bus_that_hangs() {
    let Ok(daemon) = std::env::var(PLAYED) else {
        return;
    };
    let bus = Bus::connect().await.unwrap();
    let daemon = Pid::from_raw(daemon.parse().unwrap());
    kill(daemon, Signal::SIGSTOP).unwrap();
    let asked = reboot::ask_on(&bus, Duration::from_millis(50));
    let ended = tokio::time::timeout(Duration::from_secs(10), asked).await;
    let reason = ended.expect("it waits for ever").unwrap_err().to_string();
    assert!(reason.contains("no answer of D-Bus in 50ms"), "{reason}");
}

#[tokio::test]
async fn played_a_logind_that_reboots() {
    let Some(mut asked) = play(true).await else {
        return;
    };
    assert_eq!(reboot::ask().await, Ok(()));
    assert_eq!(asked.recv().await, Some(0));
}

#[tokio::test]
async fn played_a_logind_that_refuses() {
    let Some(_asked) = play(false).await else {
        return;
    };
    let reason = reboot::ask().await.unwrap_err().to_string();
    assert!(reason.contains("apt (half an upgrade)"), "{reason}");
    assert!(!reason.contains("somebody who delays"), "{reason}");
}

/// Begins to play; each reboot's flags can be received. Nothing where this test runs without a bus of its own.
async fn play(reboots: bool) -> Option<UnboundedReceiver<u64>> {
    std::env::var_os(PLAYED)?;
    let (heard, asked) = unbounded_channel();
    let logind = Connection::system().await.unwrap();
    let mut calls = MessageStream::from(&logind);
    logind.request_name(LOGIND).await.unwrap();
    tokio::spawn(async move {
        while let Some(Ok(message)) = calls.next().await {
            if message.message_type() == Type::MethodCall {
                answer(&logind, &message, reboots, &heard).await.unwrap();
            }
        }
    });
    Some(asked)
}

async fn answer(
    logind: &Connection,
    call: &Message,
    reboots: bool,
    heard: &UnboundedSender<u64>,
) -> zbus::Result<()> {
    let header = call.header();
    let member = header.member().unwrap().as_str();
    match (member, reboots) {
        ("RebootWithFlags", true) => {
            logind.reply(&header, &()).await?;
            heard.send(call.body().deserialize()?).unwrap();
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

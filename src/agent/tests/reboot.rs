//! The reboot as logind hears it, on a bus of the test's own with a logind that is played. Needs dbus-daemon.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use agent::node::reboot;
use futures::StreamExt;
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};
use zbus::message::Type;
use zbus::{Connection, MessageStream};

const LOGIND: &str = "org.freedesktop.login1";
const PATH: &str = "/org/freedesktop/login1";
const MANAGER: &str = "org.freedesktop.login1.Manager";

/// Where libdbus and zbus look for the system's bus.
const BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";
/// Set for the one test that runs on our bus.
const PLAYED: &str = "CAREEN_LOGIND_IS_PLAYED";

/// A bus, until it is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Nothing where there is no dbus-daemon.
fn bus() -> Option<(Daemon, String)> {
    let mut child = Command::new("dbus-daemon")
        .args(["--session", "--nofork", "--print-address=1"])
        .stdout(Stdio::piped())
        .spawn()
        .ok()?;
    let mut address = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut address).unwrap();
    Some((Daemon(child), address.trim().to_owned()))
}

/// `systemctl reboot` asks for kexec where a kernel is loaded, and for a soft reboot where /run/nextroot is mounted: both are flags
/// of this call (systemd's src/shared/logind-util.h). Neither would go through GRUB, nor be a trial.
#[test]
fn a_reboot_is_asked_for_without_kexec_and_without_a_soft_one() {
    let Some((_daemon, address)) = bus() else {
        eprintln!("not checked: there is no dbus-daemon");
        return;
    };
    let test = std::env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", "the_agent_asks_the_logind_that_is_played"])
        .env(BUS, address)
        .env(PLAYED, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[tokio::test]
async fn the_agent_asks_the_logind_that_is_played() {
    if std::env::var_os(PLAYED).is_none() {
        return;
    }
    let (heard, mut asked) = unbounded_channel();
    let logind = Connection::system().await.unwrap();
    let calls = MessageStream::from(&logind);
    logind.request_name(LOGIND).await.unwrap();
    tokio::spawn(play(logind, calls, heard));
    assert_eq!(reboot::ask().await, Ok(()));
    assert_eq!(asked.recv().await, Some(("RebootWithFlags".to_owned(), 0)));
}

/// Begins the shutdown when it is asked to, and says by which call and with which flags.
async fn play(logind: Connection, mut calls: MessageStream, heard: UnboundedSender<(String, u64)>) {
    while let Some(Ok(message)) = calls.next().await {
        let header = message.header();
        if header.message_type() != Type::MethodCall {
            continue;
        }
        let member = header.member().unwrap().to_string();
        let flags = message.body().deserialize::<u64>().unwrap();
        logind.reply(&header, &()).await.unwrap();
        heard.send((member, flags)).unwrap();
        let to = None::<&str>;
        let begun = logind.emit_signal(to, PATH, MANAGER, "PrepareForShutdown", &(true,));
        begun.await.unwrap();
    }
}

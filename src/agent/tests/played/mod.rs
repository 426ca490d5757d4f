//! A system bus of a test's own, on which the test plays who is called. Needs dbus-daemon.
//!
//! libdbus and zbus find the system's bus by a variable of the process, so what runs on the bus is a test of the same program in a
//! process of its own.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};

use futures::StreamExt;
use zbus::message::Type;
use zbus::{Connection, Message, MessageStream};

/// Where libdbus and zbus look for the system's bus.
const BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";
/// Set for the test that runs on our bus: the process of its dbus-daemon.
const PLAYED: &str = "CAREEN_BUS_IS_PLAYED";

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

/// Runs another test of this program with a bus of its own for the system's.
pub fn on_a_bus_of_its_own(played: &str) {
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

/// The process of the bus that a test was given for its own; none where it was not, for then it has nothing to play on.
pub fn daemon() -> Option<i32> {
    std::env::var(PLAYED).ok()?.parse().ok()
}

/// Plays whoever has this name, who answers each call so.
pub async fn play(name: &'static str, mut answer: impl Answer) {
    let player = Connection::system().await.unwrap();
    let mut calls = MessageStream::from(&player);
    player.request_name(name).await.unwrap();
    tokio::spawn(async move {
        while let Some(Ok(message)) = calls.next().await {
            if message.message_type() == Type::MethodCall {
                answer.to(&player, &message).await.unwrap();
            }
        }
    });
}

/// Somebody who is called.
pub trait Answer: Send + 'static {
    /// Answers one call.
    fn to(
        &mut self,
        player: &Connection,
        call: &Message,
    ) -> impl Future<Output = zbus::Result<()>> + Send;
}

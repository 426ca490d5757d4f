//! A system bus for one test, on which the test plays systemd or logind. It needs dbus-daemon.
//!
//! libdbus and zbus find the system bus by an environment variable of the process. So the test runs
//! another test of the same program in its own process, and that test plays the service.
#![allow(dead_code)] // Each test uses a part.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use futures::StreamExt;
use zbus::message::Type;
use zbus::{Connection, Message, MessageStream, OwnedObjectPath};

/// The variable in which libdbus and zbus look for the system bus.
const BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";
/// The start of an address; the path follows.
const UNIX: &str = "unix:path=";
/// Set for the test that plays: the process id of its dbus-daemon.
const PLAYED: &str = "CAREEN_BUS_IS_PLAYED";

/// A bus, until it is dropped.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn bus(address: &str) -> Daemon {
    let mut child = Command::new("dbus-daemon")
        .args(["--session", "--nofork", "--print-address=1", "--address"])
        .arg(address)
        .stdout(Stdio::piped())
        .spawn()
        .expect("dbus-daemon must be there: `make setup` installs it");
    let mut printed = String::new();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    output.read_line(&mut printed).unwrap();
    Daemon(child)
}

/// Runs another test of this program with a system bus of its own.
pub fn on_a_bus_of_its_own(played: &str) {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("{UNIX}{}", folder.path().join("bus").display());
    let daemon = bus(&address);
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

/// The process of the bus. Nothing if the test runs without its own bus and cannot play.
pub fn daemon() -> Option<i32> {
    std::env::var(PLAYED).ok()?.parse().ok()
}

/// The socket of the bus, like [`daemon`].
pub fn socket() -> Option<PathBuf> {
    daemon()?;
    Some(std::env::var(BUS).ok()?.strip_prefix(UNIX)?.into())
}

/// Plays the owner of this name, which answers each call this way.
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

/// A service that is called.
pub trait Answer: Send + 'static {
    /// Answers one call.
    fn to(
        &mut self,
        player: &Connection,
        call: &Message,
    ) -> impl Future<Output = zbus::Result<()>> + Send;
}

/// An object of systemd.
pub fn path() -> OwnedObjectPath {
    "/org/freedesktop/systemd1/job/1".try_into().unwrap()
}

/// One unit as systemd's `ListUnitsByPatterns` returns it. It is not the type under test, which
/// would agree with itself even if it is wrong.
pub type Row = (
    String,
    String,
    String,
    String,
    String,
    String,
    OwnedObjectPath,
    u32,
    String,
    OwnedObjectPath,
);

/// A unit that starts.
pub fn row(name: String) -> Row {
    let text = |text: &str| text.to_owned();
    (
        name,
        text("Careen"),
        text("loaded"),
        text("activating"),
        text("start"),
        String::new(),
        path(),
        7,
        text("start"),
        path(),
    )
}

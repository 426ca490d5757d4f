//! What Undo asks of systemd first, on a bus of the test's own with a systemd that is played. Needs dbus-daemon.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use agent::node::deploy;
use agent::node::systemd::Bus;
use futures::StreamExt;
use zbus::message::Type;
use zbus::{Connection, Message, MessageStream, OwnedObjectPath};

const SYSTEMD: &str = "org.freedesktop.systemd1";

/// Where libdbus and zbus look for the system's bus.
const BUS: &str = "DBUS_SYSTEM_BUS_ADDRESS";
/// Set for the test that runs on our bus.
const PLAYED: &str = "CAREEN_SYSTEMD_IS_PLAYED";

const FETCH: &str = "careen-deploy-u1-fetch.service";
const DEPLOY: &str = "careen-deploy-u1-deploy.service";
const UNDO: &str = "careen-deploy-u1-undo.service";

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

#[test]
fn a_fetch_that_lives_on_is_ended_and_seen_gone_before_anything_is_taken_back() {
    let (_daemon, address) = bus();
    let test = std::env::current_exe().unwrap();
    let output = Command::new(test)
        .args(["--exact", "played_a_systemd_with_runs_of_a_former_agent"])
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

/// The units that live, each with how often it is still listed: one that is stopped takes its time, one that swaps ends by itself.
#[derive(Default)]
struct Units {
    alive: BTreeMap<&'static str, u32>,
    stopped: Vec<String>,
}

#[tokio::test]
async fn played_a_systemd_with_runs_of_a_former_agent() {
    if std::env::var_os(PLAYED).is_none() {
        return;
    }
    let units = Arc::new(Mutex::new(Units {
        alive: BTreeMap::from([(FETCH, u32::MAX), (DEPLOY, 3), (UNDO, u32::MAX)]),
        stopped: Vec::new(),
    }));
    play(Arc::clone(&units)).await;
    let bus = Bus::connect().await.unwrap();
    deploy::end_others(&bus, UNDO).await.unwrap();
    let units = units.lock().unwrap();
    assert_eq!(units.alive.keys().copied().collect::<Vec<_>>(), [UNDO]);
    // Inside libostree's swap a run is left to end.
    assert!(units.stopped.iter().all(|name| name == FETCH));
    assert!(!units.stopped.is_empty());
}

async fn play(units: Arc<Mutex<Units>>) {
    let systemd = Connection::system().await.unwrap();
    let mut calls = MessageStream::from(&systemd);
    systemd.request_name(SYSTEMD).await.unwrap();
    tokio::spawn(async move {
        while let Some(Ok(message)) = calls.next().await {
            if message.message_type() == Type::MethodCall {
                answer(&systemd, &message, &units).await.unwrap();
            }
        }
    });
}

async fn answer(systemd: &Connection, call: &Message, units: &Mutex<Units>) -> zbus::Result<()> {
    let header = call.header();
    match header.member().unwrap().as_str() {
        "ListUnitsByPatterns" => {
            let listed: Vec<_> = list(&mut units.lock().unwrap())
                .into_iter()
                .map(row)
                .collect();
            systemd.reply(&header, &listed).await
        }
        "StopUnit" => {
            let (name, _mode): (String, String) = call.body().deserialize()?;
            stop(&mut units.lock().unwrap(), name);
            systemd.reply(&header, &path()).await
        }
        other => panic!("{other}"),
    }
}

fn list(units: &mut Units) -> Vec<String> {
    let listed = units.alive.keys().map(|name| (*name).to_owned()).collect();
    units.alive.retain(|_, times| {
        *times = times.saturating_sub(u32::from(*times < u32::MAX));
        *times > 0
    });
    listed
}

fn stop(units: &mut Units, name: String) {
    if let Some(times) = units.alive.get_mut(name.as_str()) {
        *times = (*times).min(2);
    }
    units.stopped.push(name);
}

fn path() -> OwnedObjectPath {
    "/org/freedesktop/systemd1/job/1".try_into().unwrap()
}

#[allow(clippy::type_complexity)]
fn row(
    name: String,
) -> (
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
) {
    let text = String::new;
    (
        name,
        text(),
        "loaded".to_owned(),
        "activating".to_owned(),
        "start".to_owned(),
        text(),
        path(),
        0,
        text(),
        path(),
    )
}

//! The calls as systemd hears them, on a bus of the test's own with a systemd that is played: names, types and order of arguments are those
//! of org.freedesktop.systemd1(5). Needs dbus-daemon.
#![allow(clippy::unwrap_used, clippy::panic, missing_docs)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};

use futures::StreamExt;
use installer::bus::Bus;
use installer::systemd::{Active, Origin, Systemd};
use tempfile::TempDir;
use zbus::message::Type;
use zbus::{Connection, Message, MessageStream, OwnedObjectPath, Variant, connection};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const UNIT: &str = "/org/freedesktop/systemd1/unit/careen_2dagent_2eservice";
const AGENT: &str = "careen-agent.service";

/// One unit as systemd's `ListUnitsByPatterns` tells it. Not the type that is tested: that would agree with itself, also where it is wrong.
type Listed = (
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

/// A bus with a systemd on it, until it is dropped.
struct Played {
    daemon: Child,
    folder: TempDir,
    heard: Receiver<String>,
}

impl Drop for Played {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

impl Played {
    fn socket(&self) -> PathBuf {
        self.folder.path().join("bus")
    }

    fn bus(&self) -> Bus {
        Bus::connect(&self.socket()).unwrap()
    }

    fn heard(&self) -> Vec<String> {
        self.heard.try_iter().collect()
    }
}

fn address(socket: &Path) -> String {
    format!("unix:path={}", socket.display())
}

/// Nothing where there is no dbus-daemon.
fn play(fragment: &'static str) -> Option<Played> {
    let folder = tempfile::tempdir().unwrap();
    let address = address(&folder.path().join("bus"));
    let started = Command::new("dbus-daemon")
        .args(["--session", "--nofork", "--print-address=1", "--address"])
        .arg(&address)
        .stdout(Stdio::piped())
        .spawn();
    let Ok(mut daemon) = started else {
        eprintln!("not checked: there is no dbus-daemon");
        return None;
    };
    let mut line = String::new();
    let mut output = BufReader::new(daemon.stdout.take().unwrap());
    output.read_line(&mut line).unwrap();
    let (hear, heard) = channel();
    let (ready, is_ready) = channel();
    std::thread::spawn(move || systemd(&address, fragment, &hear, &ready));
    is_ready.recv().unwrap();
    Some(Played {
        daemon,
        folder,
        heard,
    })
}

/// Plays until the bus is gone. The agent's service runs until it is stopped, and ends at the second look after that.
fn systemd(address: &str, fragment: &str, hear: &Sender<String>, ready: &Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let systemd = connection::Builder::address(address).build().await.unwrap();
        let mut calls = MessageStream::from(&systemd);
        systemd.request_name(SYSTEMD).await.unwrap();
        ready.send(()).unwrap();
        let mut looks_left = u32::MAX;
        while let Some(Ok(message)) = calls.next().await {
            if message.message_type() != Type::MethodCall {
                continue;
            }
            let member = message.header().member().unwrap().to_string();
            if member == "StopUnit" {
                looks_left = 1;
            }
            if member == "Get" && asks_for(&message) == "ActiveState" {
                looks_left = looks_left.saturating_sub(1);
            }
            // Before the answer: whoever has it may look at once what was heard.
            let _ = hear.send(call(&message));
            answer(&systemd, &message, fragment, looks_left).await;
        }
    });
}

fn asks_for(message: &Message) -> String {
    let (_, property): (String, String) = message.body().deserialize().unwrap();
    property
}

/// The call as the tests read it.
fn call(message: &Message) -> String {
    let member = message.header().member().unwrap().to_string();
    let said = match member.as_str() {
        "LoadUnit" => message.body().deserialize().unwrap(),
        "StartUnit" | "StopUnit" => {
            let (name, mode): (String, String) = message.body().deserialize().unwrap();
            format!("{name} {mode}")
        }
        "Reload" => String::new(),
        "ListUnitsByPatterns" => {
            let asked: (Vec<String>, Vec<String>) = message.body().deserialize().unwrap();
            format!("{} {}", asked.0.join(","), asked.1.join(","))
        }
        "Get" => asks_for(message),
        other => panic!("systemd is told to {other}"),
    };
    format!("{member} {said}").trim_end().to_owned()
}

async fn answer(systemd: &Connection, call: &Message, fragment: &str, looks_left: u32) {
    let header = call.header();
    let path = || OwnedObjectPath::try_from(UNIT).unwrap();
    let answered = match header.member().unwrap().as_str() {
        "LoadUnit" | "StartUnit" | "StopUnit" => systemd.reply(&header, &path()).await,
        "Reload" => systemd.reply(&header, &()).await,
        "ListUnitsByPatterns" => systemd.reply(&header, &vec![a_step(path())]).await,
        "Get" => {
            let value = match asks_for(call).as_str() {
                "FragmentPath" => Variant::new(fragment.to_owned()),
                "ActiveState" if looks_left == 0 => Variant::new("inactive".to_owned()),
                "ActiveState" => Variant::new("active".to_owned()),
                "ActiveEnterTimestampMonotonic" => Variant::new(1_000_000_u64),
                "StatusText" => Variant::new("watching the Node".to_owned()),
                other => panic!("systemd is asked for {other}"),
            };
            systemd.reply(&header, &value).await
        }
        other => panic!("systemd is told to {other}"),
    };
    answered.unwrap();
}

/// A step of an upgrade that goes on, as `ListUnitsByPatterns` tells it.
fn a_step(path: OwnedObjectPath) -> Listed {
    let text = |text: &str| text.to_owned();
    (
        text("careen-deploy-u1-fetch.service"),
        text("Careen: fetch"),
        text("loaded"),
        text("activating"),
        text("start"),
        String::new(),
        path.clone(),
        7,
        text("start"),
        path,
    )
}

#[test]
fn a_service_is_as_systemd_says() {
    let Some(played) = play("/usr/lib/systemd/system/careen-agent.service") else {
        return;
    };
    let service = played.bus().service(AGENT).unwrap();
    assert_eq!(service.origin, Origin::Image);
    assert_eq!(service.active, Active::Running);
    assert_eq!(service.status, "watching the Node");
    assert!(
        service.seconds > 0,
        "this machine is up for more than a second"
    );
    // A unit that has no file is loaded, too, and does not count as an error.
    assert_eq!(played.heard()[0], format!("LoadUnit {AGENT}"));
}

#[test]
fn a_service_without_a_file_is_nobodys() {
    let Some(played) = play("") else { return };
    assert_eq!(played.bus().service(AGENT).unwrap().origin, Origin::Nobody);
}

#[test]
fn steps_are_asked_for_by_pattern_and_by_all_states_in_which_something_goes_on() {
    let Some(played) = play("") else { return };
    let alive = played.bus().alive("careen-deploy-*").unwrap();
    assert_eq!(alive, ["careen-deploy-u1-fetch.service"]);
    let asked = "ListUnitsByPatterns active,activating,deactivating,reloading careen-deploy-*";
    assert_eq!(played.heard(), [asked]);
}

#[test]
fn stopping_waits_until_the_service_has_ended() {
    let Some(played) = play("") else { return };
    let bus = played.bus();
    bus.stop(AGENT).unwrap();
    assert_eq!(bus.service(AGENT).unwrap().active, Active::Down);
    let heard = played.heard();
    assert!(
        heard.contains(&format!("StopUnit {AGENT} replace")),
        "{heard:?}"
    );
}

#[test]
fn starting_and_reloading_are_one_call_each() {
    let Some(played) = play("") else { return };
    let bus = played.bus();
    bus.reload().unwrap();
    bus.start(AGENT).unwrap();
    assert_eq!(
        played.heard(),
        ["Reload".to_owned(), format!("StartUnit {AGENT} replace")]
    );
}

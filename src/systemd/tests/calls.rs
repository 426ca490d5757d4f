//! The calls as systemd hears them: names, types and order of arguments are those of
//! org.freedesktop.systemd1(5). The test plays systemd on a bus of its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod played;

use std::sync::{Arc, Mutex};

use systemd::{ActiveState, Bus, Service, Variant};
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, path, play, row};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const AGENT: &str = "careen-agent.service";

#[test]
fn systemd_hears_each_call_as_its_manual_says() {
    on_a_bus_of_its_own("played_a_systemd");
}

#[tokio::test]
async fn played_a_systemd() {
    if played::daemon().is_none() {
        return;
    }
    let heard = Heard::default();
    play(SYSTEMD, heard.clone()).await;
    let bus = Bus::system().await.unwrap();
    bus.reload().await.unwrap();
    bus.start(AGENT).await.unwrap();
    bus.stop(AGENT).await.unwrap();
    bus.restart(AGENT).await.unwrap();
    let properties = [("Type", Variant::new("oneshot"))];
    bus.start_transient(AGENT, &properties).await.unwrap();
    let alive = bus.alive("careen-deploy-*").await.unwrap();
    assert_eq!(alive, ["careen-deploy-u1-fetch.service"]);
    let calls = [
        "Reload",
        "StartUnit careen-agent.service replace",
        "StopUnit careen-agent.service replace",
        "RestartUnit careen-agent.service replace",
        "StartTransientUnit careen-agent.service fail Type",
        "ListUnitsByPatterns active,activating,deactivating,reloading careen-deploy-*",
    ];
    assert_eq!(heard.take(), calls);

    let state = bus.state(AGENT).await.unwrap();
    assert_eq!(state, Some(ActiveState::Active));
    let gone = bus.state("careen-deploy-u1-fetch.service").await.unwrap();
    assert_eq!(gone, None);
    let service = Service {
        fragment: "/usr/lib/systemd/system/careen-agent.service".to_owned(),
        state: ActiveState::Active,
        entered: 1_000_000,
        status: "watching the Node".to_owned(),
    };
    heard.take();
    assert_eq!(bus.service(AGENT).await.unwrap(), service);
    // systemd loads also a unit that has no file.
    assert_eq!(heard.take()[0], format!("LoadUnit {AGENT}"));
}

/// What was asked for.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<String>>>);

impl Heard {
    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap())
    }
}

impl Answer for Heard {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let (member, asked) = read(call);
        let heard = format!("{member} {asked}").trim_end().to_owned();
        self.0.lock().unwrap().push(heard);
        let header = call.header();
        match (member.as_str(), asked.as_str()) {
            ("GetUnit", name) if name != AGENT => {
                let error = "org.freedesktop.systemd1.NoSuchUnit";
                systemd.reply_error(&header, error, &"not loaded").await
            }
            ("Reload", _) => systemd.reply(&header, &()).await,
            ("ListUnitsByPatterns", _) => {
                let name = "careen-deploy-u1-fetch.service".to_owned();
                systemd.reply(&header, &vec![row(name)]).await
            }
            ("Get", property) => systemd.reply(&header, &value(property)).await,
            _ => systemd.reply(&header, &path()).await,
        }
    }
}

/// A call's name and its arguments.
fn read(call: &Message) -> (String, String) {
    let (header, body) = (call.header(), call.body());
    let member = header.member().unwrap().to_string();
    let said = match member.as_str() {
        "GetUnit" | "LoadUnit" => body.deserialize().unwrap(),
        "StartUnit" | "StopUnit" | "RestartUnit" => {
            let (name, mode): (String, String) = body.deserialize().unwrap();
            format!("{name} {mode}")
        }
        "StartTransientUnit" => {
            type Properties<'a> = Vec<(String, Variant<'a>)>;
            let (name, mode, properties, auxiliary): (
                String,
                String,
                Properties<'_>,
                Vec<(String, Properties<'_>)>,
            ) = body.deserialize().unwrap();
            assert!(auxiliary.is_empty());
            format!("{name} {mode} {}", properties[0].0)
        }
        "ListUnitsByPatterns" => {
            let asked: (Vec<String>, Vec<String>) = body.deserialize().unwrap();
            format!("{} {}", asked.0.join(","), asked.1.join(","))
        }
        "Get" => {
            let (_, property): (String, String) = body.deserialize().unwrap();
            property
        }
        "Reload" => String::new(),
        other => panic!("systemd is told to {other}"),
    };
    (member, said)
}

fn value(property: &str) -> Variant<'static> {
    match property {
        "FragmentPath" => Variant::new("/usr/lib/systemd/system/careen-agent.service".to_owned()),
        "ActiveState" => Variant::new("active".to_owned()),
        "ActiveEnterTimestampMonotonic" => Variant::new(1_000_000_u64),
        "StatusText" => Variant::new("watching the Node".to_owned()),
        other => panic!("systemd is asked for {other}"),
    }
}

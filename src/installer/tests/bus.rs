//! The installer waits until a service that it stops has ended. The test plays systemd on a bus of
//! its own.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::sync::mpsc::{Sender, channel};

use installer::bus::Bus;
use installer::systemd::{Active, Origin, Systemd};
use systemd::Variant;
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, path, play};

const SYSTEMD: &str = "org.freedesktop.systemd1";
const AGENT: &str = "careen-agent.service";

#[test]
fn stop_waits_until_the_service_has_ended() {
    on_a_bus_of_its_own("played_a_service_that_takes_time_to_end");
}

#[test]
fn played_a_service_that_takes_time_to_end() {
    let Some(socket) = played::socket() else {
        return;
    };
    let (ready, is_ready) = channel();
    std::thread::spawn(move || run(&ready));
    is_ready.recv().unwrap();
    let bus = Bus::connect(&socket).unwrap();
    let before = bus.service(AGENT).unwrap();
    assert_eq!(
        (before.origin, before.active),
        (Origin::Image, Active::Running)
    );
    assert!(
        before.seconds > 0,
        "it runs since the first second of this boot"
    );
    bus.stop(AGENT).unwrap();
    assert_eq!(bus.service(AGENT).unwrap().active, Active::Down);
}

fn run(ready: &Sender<()>) {
    let runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = { runtime }.enable_all().build().unwrap();
    runtime.block_on(async {
        play(SYSTEMD, Service::default()).await;
        ready.send(()).unwrap();
        std::future::pending::<()>().await;
    });
}

/// It runs until it is stopped, and has ended at the second look after that.
#[derive(Default)]
struct Service {
    looks_since_stop: Option<u32>,
}

impl Service {
    fn state(&mut self) -> &'static str {
        let Some(looks) = &mut self.looks_since_stop else {
            return "active";
        };
        *looks += 1;
        if *looks > 1 {
            "inactive"
        } else {
            "deactivating"
        }
    }
}

impl Answer for Service {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        let value = match header.member().unwrap().as_str() {
            "LoadUnit" => return systemd.reply(&header, &path()).await,
            "StopUnit" => {
                self.looks_since_stop = Some(0);
                return systemd.reply(&header, &path()).await;
            }
            "Get" => {
                let (_, property): (String, String) = call.body().deserialize()?;
                match property.as_str() {
                    "FragmentPath" => Variant::new("/usr/lib/systemd/system/careen-agent.service"),
                    "ActiveState" => Variant::new(self.state()),
                    "ActiveEnterTimestampMonotonic" => Variant::new(1_000_000_u64),
                    "StatusText" => Variant::new("watching the Node"),
                    other => panic!("systemd is asked for {other}"),
                }
            }
            other => panic!("systemd is told to {other}"),
        };
        systemd.reply(&header, &value).await
    }
}

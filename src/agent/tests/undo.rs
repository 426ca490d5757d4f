//! What Undo asks of systemd first, on a bus of the test's own with a systemd that is played.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../systemd/tests/played/mod.rs"]
mod played;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use agent::step::deploy::follow;
use systemd::Bus;
use zbus::{Connection, Message};

use played::{Answer, on_a_bus_of_its_own, path, play, row};

const SYSTEMD: &str = "org.freedesktop.systemd1";

const FETCH: &str = "careen-deploy-u1-fetch.service";
const DEPLOY: &str = "careen-deploy-u1-deploy.service";
const UNDO: &str = "careen-deploy-u1-undo.service";

#[test]
fn undo_waits_until_leftover_runs_of_other_steps_end() {
    on_a_bus_of_its_own("played_a_systemd_with_runs_of_a_former_agent");
}

/// The units that live, each with how often it is still listed: one that is stopped takes its time,
/// one that swaps ends by itself.
#[derive(Default)]
struct Units {
    alive: BTreeMap<&'static str, u32>,
    stopped: Vec<String>,
}

#[tokio::test]
async fn played_a_systemd_with_runs_of_a_former_agent() {
    if played::daemon().is_none() {
        return;
    }
    let units = Arc::new(Mutex::new(Units {
        alive: BTreeMap::from([(FETCH, u32::MAX), (DEPLOY, 3), (UNDO, u32::MAX)]),
        stopped: Vec::new(),
    }));
    play(SYSTEMD, Arc::clone(&units)).await;
    let bus = Bus::system().await.unwrap();
    follow::end_others(&bus, UNDO).await.unwrap();
    let units = units.lock().unwrap();
    assert_eq!(units.alive.keys().copied().collect::<Vec<_>>(), [UNDO]);
    // Inside libostree's swap a run is left to end.
    assert!(units.stopped.iter().all(|name| name == FETCH));
    assert!(!units.stopped.is_empty());
}

impl Answer for Arc<Mutex<Units>> {
    async fn to(&mut self, systemd: &Connection, call: &Message) -> zbus::Result<()> {
        let header = call.header();
        match header.member().unwrap().as_str() {
            "ListUnitsByPatterns" => {
                let listed = list(&mut self.lock().unwrap());
                let rows: Vec<_> = listed.into_iter().map(row).collect();
                systemd.reply(&header, &rows).await
            }
            "StopUnit" => {
                let (name, _mode): (String, String) = call.body().deserialize()?;
                stop(&mut self.lock().unwrap(), name);
                systemd.reply(&header, &path()).await
            }
            other => panic!("{other}"),
        }
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

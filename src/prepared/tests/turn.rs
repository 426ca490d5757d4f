//! The loop against a management cluster that answers, is away, and refuses.
#![allow(clippy::unwrap_used)]

mod rig;

use std::time::Duration;

use life::{Claim, ClaimId};
use prepared::api::{Api, Own};
use prepared::turn::Turns;
use prepared::{Host, OnDisk, Store};
use rig::{Rig, WORKER, claim, id};
use serde_json::Value;

#[derive(Default)]
struct Played {
    away: bool,
    claim: Option<Result<Claim, String>>,
    data: Option<(ClaimId, String)>,
    said: Vec<Value>,
    kept: Value,
    unknown_field: bool,
    renewed: u32,
    data_read: u32,
}

impl Api for Played {
    fn credential(&mut self) -> Result<(), String> {
        Ok(())
    }

    fn own(&mut self) -> Result<Own, String> {
        match self.away {
            true => Err("no route".to_owned()),
            false => Ok(Own {
                claim: self.claim.clone(),
                failure_domain: None,
                status: self.kept.clone(),
            }),
        }
    }

    fn data(&mut self) -> Result<Option<(ClaimId, String)>, String> {
        self.data_read += 1;
        Ok(self.data.clone())
    }

    fn say(&mut self, status: &Value) -> Result<(), String> {
        match self.away {
            true => Err("no route".to_owned()),
            false => {
                self.said.push(status.clone());
                self.kept = status.clone();
                if self.unknown_field {
                    self.kept.as_object_mut().unwrap().remove("loader");
                }
                Ok(())
            }
        }
    }

    fn renew(&mut self) -> Result<(), String> {
        self.renewed += 1;
        Ok(())
    }
}

impl Played {
    fn phase(&self) -> &str {
        self.said.last().unwrap()["phase"].as_str().unwrap()
    }
}

/// The management cluster of a host that has joined under claim `a`.
fn joined(rig: &mut Rig, turns: &mut Turns<'_>) -> Played {
    let mut api = Played {
        claim: Some(Ok(claim('a'))),
        data: Some((id('a'), WORKER.to_owned())),
        ..Played::default()
    };
    for _ in 0..4 {
        turns.turn(&mut rig.machine, &mut api).unwrap();
    }
    assert_eq!(api.phase(), "Joined");
    api
}

#[test]
fn a_host_lives_its_life_by_turns() {
    let mut rig = Rig::new();
    let before = rig.tree();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = Played::default();
    assert_eq!(
        turns.turn(&mut rig.machine, &mut api).unwrap(),
        Duration::from_secs(10)
    );
    assert_eq!(api.phase(), "Available");
    assert_eq!(
        api.said[0]["capacity"]["memory"], "0",
        "there is no /proc in the folder"
    );

    api.claim = Some(Ok(claim('a')));
    turns.turn(&mut rig.machine, &mut api).unwrap();
    let said = api.said.last().unwrap();
    assert_eq!(
        (said["reason"].as_str(), said["phase"].as_str()),
        (Some("AwaitsData"), Some("Joining"))
    );
    assert_eq!(said["observedClaim"], id('a').as_str());

    api.data = Some((id('a'), WORKER.to_owned()));
    for _ in 0..3 {
        turns.turn(&mut rig.machine, &mut api).unwrap();
    }
    assert_eq!(api.phase(), "Joined");
    assert_eq!(rig.machine.runs[&id('a')], 1);

    let mut released = claim('a');
    released.wanted = life::Wanted::Released;
    api.claim = Some(Ok(released));
    for _ in 0..20 {
        turns.turn(&mut rig.machine, &mut api).unwrap();
    }
    assert_eq!(api.phase(), "Available");
    assert_eq!(rig.tree(), before);
}

#[test]
fn a_host_at_rest_writes_nothing_but_its_lease() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = Played::default();
    for turn in 0..10 {
        rig.machine.now = 60_000 + turn * 10_000;
        turns.turn(&mut rig.machine, &mut api).unwrap();
    }
    assert_eq!(api.said.len(), 1, "the status did not change");
    assert_eq!(api.renewed, 5, "each 20 s");
}

#[test]
fn host_says_until_when_its_management_cluster_answered() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = Played::default();
    let mut after = |seconds: u64, away: bool, turns: &mut Turns<'_>| {
        api.away = away;
        rig.machine.now = seconds * 1000;
        turns.turn(&mut rig.machine, &mut api).unwrap();
        std::fs::read_to_string(paths.reached()).unwrap_or_default()
    };
    assert_eq!(after(60, true, &mut turns), "");
    assert_eq!(after(70, false, &mut turns), "70000 70000");
    assert_eq!(after(80, false, &mut turns), "70000 70000", "it is fresh");
    assert_eq!(after(90, false, &mut turns), "70000 90000");
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    assert_eq!(after(610, false, &mut turns), "70000 610000", "restarted");
    std::fs::create_dir(paths.reached().with_file_name(".host-reached.careen-new")).unwrap();
    assert_eq!(after(640, false, &mut turns), "70000 610000", "no room");
    assert_eq!(api.renewed, 4, "the heartbeat continues");
}

#[test]
fn a_status_that_the_server_lost_is_said_again() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = Played::default();
    let mut turn = |api: &mut Played| turns.turn(&mut rig.machine, api).unwrap();
    turn(&mut api);
    let before = serde_json::json!({ "phase": "Registered", "hostname": "n-1" });
    for (restored, said) in [(Value::Null, 2), (before, 3), (Value::Null, 4)] {
        api.kept = restored;
        for _ in 0..3 {
            turn(&mut api);
        }
        assert_eq!((api.phase(), api.said.len()), ("Available", said));
        assert_eq!(api.kept, api.said[0]);
    }

    // A server whose CRD does not have a field shows the status without it.
    api.unknown_field = true;
    api.kept = Value::Null;
    for _ in 0..10 {
        turn(&mut api);
    }
    assert_eq!(api.said.len(), 6, "the second answer shows what it keeps");

    // A server that does not answer shows nothing.
    api.away = true;
    turn(&mut api);
    assert_eq!(api.said.len(), 6);
}

#[test]
fn a_joined_host_reads_no_bootstrap_data() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = joined(&mut rig, &mut turns);
    let read = api.data_read;
    turns.turn(&mut rig.machine, &mut api).unwrap();
    assert_eq!(api.data_read, read);
}

#[test]
fn a_management_cluster_that_is_away_harms_no_node() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = joined(&mut rig, &mut turns);
    let node = rig.tree();
    for answer in [
        None,
        Some(Err("unknown wanted".to_owned())),
        Some(Ok(claim('b'))),
    ] {
        for away in [true, false] {
            (api.away, api.claim) = (away, answer.clone());
            turns.turn(&mut rig.machine, &mut api).unwrap();
            assert!(rig.machine.kubelet, "{answer:?}");
            assert_eq!(rig.tree(), node);
        }
    }
    let reasons: Vec<_> = api
        .said
        .iter()
        .rev()
        .take(3)
        .map(|said| said["reason"].clone())
        .collect();
    assert_eq!(reasons, ["ClaimForeign", "ClaimUnread", "ClaimGone"]);
}

/// The token runs out meanwhile, and the host reboots once.
#[test]
fn a_management_cluster_that_is_away_for_a_day_harms_no_node() {
    const MINUTE: u64 = 60_000;
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = joined(&mut rig, &mut turns);
    let (node, record) = (rig.tree(), Store::new(&paths).read());
    api.away = true;
    for half in 0..2 {
        for minute in 0..13 * 60 {
            rig.machine.now = 60_000 + minute * MINUTE;
            let pause = turns.turn(&mut rig.machine, &mut api).unwrap();
            assert_eq!(pause, Duration::from_secs(60));
        }
        assert!(rig.machine.kubelet, "half {half}");
        assert_eq!(rig.tree(), node);
        rig.machine.start();
        turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    }
    assert_eq!(Store::new(&paths).read(), record);
    api.away = false;
    turns.turn(&mut rig.machine, &mut api).unwrap();
    assert_eq!(api.phase(), "Joined");
    assert_eq!(rig.machine.runs[&id('a')], 1);
}

#[test]
fn file_of_the_reached_cluster_goes_while_it_is_away() {
    let mut rig = Rig::new();
    let paths = rig.paths.clone();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let mut api = Played::default();
    let mut there = |api: &mut Played, away: bool| {
        api.away = away;
        turns.turn(&mut rig.machine, api).unwrap();
        paths.reached().exists()
    };
    let seen = [false, true, true, false].map(|away| there(&mut api, away));
    assert_eq!(seen, [true, false, false, true]);
}

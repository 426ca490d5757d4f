//! careen-host's own requests and decisions, on a host in a folder. kubeadm, the kubelet and
//! careen-agent are played.

#[path = "../../../../src/prepared/tests/rig/mod.rs"]
pub mod rig;

use std::fs;
use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender, TryRecvError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::Result;
use careen_host::cluster::Cluster;
use clap::Parser;
use hosts_tests::IMAGE;
use kubectl::cli::Cli;
use kubectl::console::Console;
use kubectl::render::Look;
use prepared::identity::Identity;
use prepared::settings::Settings;
use prepared::turn::Turns;
use prepared::{Host, OnDisk};
use upgrade::decide::RecordStore as _;
use upgrade::{Phase as Upgraded, RawRequest, Record, Upgrade};

use rig::Rig;

/// The program of a host, as a thread. Dropping it ends the program between two turns.
pub struct Program {
    orders: Option<SyncSender<Order>>,
    thread: Option<JoinHandle<String>>,
}

#[derive(PartialEq, Eq)]
enum Order {
    /// The power goes.
    Off,
    /// The power comes back, so much later that the token has run out, and with this file.
    On(Box<Settings>),
}

impl Program {
    /// Starts it with this file.
    pub fn start(settings: Settings) -> Self {
        // The sender of an order waits until it is taken.
        let (orders, given) = mpsc::sync_channel(0);
        let thread = std::thread::spawn(move || live(settings, &given));
        Self {
            orders: Some(orders),
            thread: Some(thread),
        }
    }

    /// The host loses its power.
    pub fn off(&self) {
        self.order(Order::Off);
    }

    /// The host is back after more than the life of a token, with this file.
    pub fn on(&self, settings: Settings) {
        self.order(Order::On(Box::new(settings)));
    }

    fn order(&self, order: Order) {
        self.orders.as_ref().unwrap().send(order).unwrap();
    }

    /// Ends it, and returns what kubeadm ran, by claim.
    pub fn end(mut self) -> String {
        drop(self.orders.take());
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.orders.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Turns until the test ends. The pauses are shorter than a host's.
fn live(settings: Settings, orders: &Receiver<Order>) -> String {
    let mut rig = Rig::new();
    let name = settings.name.clone().unwrap();
    rig.put("/proc/sys/kernel/hostname", &name);
    let before = rig.tree();
    play_agent(&rig, "made", IMAGE);
    let mut file = Some(settings);
    while let Some(settings) = file {
        file = lit(&mut rig, settings, orders);
        if file.is_some() {
            rig.machine.start();
            run_out(&rig);
        }
    }
    assert_eq!(rig.tree(), before, "the host is as it was");
    let runs: Vec<_> = rig.machine.runs.values().collect();
    format!("{runs:?}")
}

/// Turns until the power goes. Returns the file that the host comes back with.
fn lit(rig: &mut Rig, settings: Settings, orders: &Receiver<Order>) -> Option<Settings> {
    let name = settings.name.clone().unwrap();
    let paths = rig.paths.clone();
    let mut api = Cluster::new(&paths, settings, name).unwrap();
    let mut turns = Turns::new(Host::new(&paths, &OnDisk), Vec::new());
    let begun = Instant::now();
    while orders.try_recv() == Err(TryRecvError::Empty) {
        rig.machine.now = 60_000 + u64::try_from(begun.elapsed().as_millis()).unwrap();
        turns.turn(&mut rig.machine, &mut api).unwrap();
        answer(rig);
        std::thread::sleep(Duration::from_millis(200));
    }
    match orders.recv() {
        Ok(Order::On(settings)) => Some(*settings),
        Ok(Order::Off) | Err(_) => None,
    }
}

/// The token is one that the API server does not accept any more.
fn run_out(rig: &Rig) {
    let mut identity = Identity::read(&rig.paths, &OnDisk).unwrap();
    identity.token = Some("a-token-that-has-run-out".to_owned());
    identity.write(&rig.paths, &OnDisk).unwrap();
}

/// Answers as careen-agent does when the image runs already.
fn answer(rig: &Rig) {
    let Ok(text) = fs::read_to_string(rig.paths.request()) else {
        return;
    };
    let request: RawRequest = serde_json::from_str(&text).unwrap();
    play_agent(rig, &request.id.unwrap(), &request.image.unwrap());
}

fn play_agent(rig: &Rig, id: &str, image: &str) {
    let places = &rig.paths.places;
    let (booted, _) = host::boot::booted(&places.sysroot, &places.root).unwrap();
    let (id, target) = (id.parse().unwrap(), image.parse().unwrap());
    let mut upgrade = Upgrade::new(id, RawRequest::scheduled(image), target, booted.clone());
    (upgrade.phase, upgrade.to) = (Upgraded::Upgraded, Some(booted));
    let mut store = host::record::Store::new(&places.sysroot);
    let last = store.read().map_or(0, |record| record.generation);
    let record = Record {
        upgrade: Some(upgrade),
        generation: last + 1,
        ..Record::default()
    };
    store.store(&record).unwrap();
}

/// Types a command line of `kubectl careen host`, and returns what it prints.
pub async fn kubectl(kubeconfig: &Path, space: &str, line: &str) -> Result<String> {
    let kubeconfig = kubeconfig.display();
    let start = format!("kubectl-careen --kubeconfig {kubeconfig} host -n {space}");
    let words = start.split_whitespace().chain(line.split_whitespace());
    let cli = Cli::try_parse_from(words)?;
    let (mut console, captured) = Console::captured(Look::default(), None);
    kubectl::run(&cli, &mut console).await?;
    Ok(captured.out())
}

/// The file of `kubectl careen host token`, for a host of this name.
pub fn settings(text: &str, name: &str) -> Result<Settings> {
    // Everybody may write in the folder of temporary files itself.
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("host.toml");
    fs::write(&file, text)?;
    let mut settings = Settings::read(&file)?;
    settings.name = Some(name.to_owned());
    Ok(settings)
}

//! The entry point of `careen-installer`.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;

use std::process::ExitCode;
use std::sync::mpsc::{Receiver, channel};
use std::time::SystemTime;

use anyhow::{Context, Result};
use args::{Cli, Verb};
use clap::Parser;
use installer::bus::Bus;
use installer::failed::Failed;
use installer::follow::Follower;
use installer::health::Health;
use installer::lock;
use installer::look::Blind;
use installer::node::Node;
use installer::remove::remove;
use installer::turns;
use nix::sys::signal::{SigSet, Signal};

/// The socket of the host's D-Bus.
const SOCKET: &str = "run/dbus/system_bus_socket";

fn main() -> ExitCode {
    let cli = Cli::parse();
    if cli.verb == Verb::Ready {
        let health = Health::heard(&cli.health, SystemTime::now());
        println!("{}", health.text);
        return ExitCode::from(u8::from(!health.ready));
    }
    tracing_subscriber::fmt()
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .init();
    match work(&cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("careen-installer: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn work(cli: &Cli) -> Result<()> {
    // Before any thread starts, so that a signal kills none of them.
    let over = asked_to_end()?;
    let node = Node::new(&cli.root, &cli.bundle).context("this pod's image is incomplete")?;
    let mut held = None;
    let mut follower = Follower::new(&cli.root);
    turns::run(&cli.health, &over, || {
        if held.is_none() {
            match lock::take(&cli.root.join(lock::FOLDER)) {
                Ok(lock) => held = Some(lock),
                Err(text) => return Ok(Health { ready: false, text }),
            }
        }
        if cli.verb == Verb::Install {
            follower.keep_alive();
        }
        turn(cli, &node)
    });
    Ok(())
}

fn turn(cli: &Cli, node: &Node) -> Result<Health, Failed> {
    // Nothing was done yet, so it is retried soon. At boot the bus may start after the pod.
    let bus = Bus::connect(&cli.root.join(SOCKET)).map_err(Blind::from)?;
    match cli.verb {
        Verb::Uninstall => remove(node, &bus),
        Verb::Install | Verb::Ready => turns::install(node, &bus),
    }
}

/// The first process of a container ignores every signal that it does not handle.
fn asked_to_end() -> Result<Receiver<()>> {
    let mut signals = SigSet::empty();
    signals.add(Signal::SIGTERM);
    signals.add(Signal::SIGINT);
    signals.thread_block().context("cannot block signals")?;
    let (say, over) = channel();
    std::thread::spawn(move || {
        let _ = signals.wait();
        let _ = say.send(());
    });
    Ok(over)
}

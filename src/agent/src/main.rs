//! `careen-agent`: wiring. The mounts come first, then the runtime, then the loop.

#![deny(clippy::wildcard_enum_match_arm)]
#![cfg_attr(not(test), deny(clippy::disallowed_methods))]

mod args;

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agent::access::NodeAccess;
use agent::cluster::{Cluster, SILENCE};
use agent::limits::{self, Measured};
use agent::metrics::{self, Shown};
use agent::node::real::{self, Node};
use agent::node::saved;
use agent::run::{Setup, run};
use agent::{doctor, executables, kubeadm, launch, lock, log, policy_file};
use anyhow::{Context, Result, bail, ensure};
use args::{Cli, Command};
use clap::Parser;
use host::Places;
use host::agents::Agents;
use host::record::Store;
use systemd::Notify;
use tokio::signal::unix::{SignalKind, signal};
use tracing::level_filters::LevelFilter;
use upgrade::names;

fn main() -> ExitCode {
    let cli = Cli::parse();
    log::start(if cli.verbose {
        LevelFilter::DEBUG
    } else {
        LevelFilter::INFO
    });
    let well = |()| ExitCode::SUCCESS;
    let done = match cli.command {
        None | Some(Command::Run) => serve(&cli).map(well),
        Some(Command::Launch) => launch(&cli).map(well),
        Some(Command::KubeadmUpgrade) => kubeadm_upgrade(&cli).map(well),
        Some(Command::Record) => print_record(&cli).map(well),
        Some(Command::Doctor { json, offline, fix }) => {
            let fixed = if fix { share_kubernetes(&cli) } else { Ok(()) };
            fixed.and_then(|()| examine(&cli, json, offline))
        }
        Some(Command::Metrics) => print_metrics(&cli).map(well),
    };
    match done {
        Ok(code) => code,
        Err(error) => {
            eprintln!("careen-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Becomes the newest agent. Runs this agent if anything is wrong with the other one.
fn launch(cli: &Cli) -> Result<()> {
    // If /boot is on one file system with /var, writing the note of this start blocks forever.
    thaw(&Places::running(&cli.root));
    let own = executables::program().context("cannot find the path of this program")?;
    let agents = Agents::below(&cli.root);
    if let Some(other) = launch::other(&agents, own) {
        let Err(error) = launch::become_it(&other, std::env::args_os().skip(1));
        launch::stay(&agents, &other, own, &error);
    }
    serve(cli)
}

/// A careen-deploy that was killed or hangs can leave /boot frozen, with everything else on its
/// file system: often the root and /var. So the agent thaws /boot before it writes anything.
fn thaw(places: &Places) {
    if let Err(error) = host::freeze::thaw_marked(&places.root, &[&places.boot]) {
        tracing::warn!("{error}");
    }
}

fn serve(cli: &Cli) -> Result<()> {
    let places = Places::running(&cli.root);
    thaw(&places);
    // This must precede the change of mounts, which also changes what the kernel reports.
    executables::program();
    // This must precede any thread, because a thread keeps the mounts it started with.
    real::make_writable(&places).context("cannot make the physical root writable")?;
    let lock = cli.root.join(names::AGENT_LOCK.trim_start_matches('/'));
    let setup = Setup {
        store: Store::new(&places.sysroot),
        node: Node::new(places.clone()),
        kubeconfig: cli.kubeconfig.clone(),
        silence: SILENCE,
        policy: cli.policy.clone(),
    };
    runtime()?.block_on(async {
        // This must precede the handler for SIGTERM, so that SIGTERM ends an agent that still
        // waits.
        let _sole = lock::take(&lock, &mut Notify::from_environment()).await;
        if let Ok(record) = Store::new(&places.sysroot).read() {
            saved::keep(&places, record.upgrade.as_ref().map(|up| &up.id));
        }
        tokio::spawn(note_that_it_lasted(Agents::below(&cli.root)));
        let mut term = signal(SignalKind::terminate())?;
        let stop = async || {
            term.recv().await;
        };
        run(setup, stop).await;
        Ok(())
    })
}

/// Notes that this agent lasted, so that the reboots of an upgrade do not count as failed starts.
async fn note_that_it_lasted(agents: Agents) {
    tokio::time::sleep(Duration::from_secs(upgrade::launch::LASTS)).await;
    if let Some(own) = executables::program() {
        launch::lasted(&agents, own);
    }
}

/// Always exits with success for systemd. The agent judges whether kubeadm succeeded, and the
/// kubelet must start either way.
fn kubeadm_upgrade(cli: &Cli) -> Result<()> {
    let record = Store::new(&Places::running(&cli.root).sysroot).read();
    let Some(upgrade) = record.as_ref().ok().and_then(kubeadm::wanted) else {
        tracing::info!("no upgrade needs it");
        return Ok(());
    };
    let state = Store::new(&Places::running(&cli.root).sysroot);
    let policy = policy_file::PolicyFile::new(cli.policy.clone(), state.folder()).read();
    let policy = upgrade::policy::in_force(&policy);
    if let Err(detail) = runtime()?.block_on(kubeadm::run(upgrade, policy)) {
        tracing::warn!("{detail}; the agent tries again");
    }
    Ok(())
}

fn print_record(cli: &Cli) -> Result<()> {
    let record = Store::new(&Places::running(&cli.root).sysroot).read()?;
    println!("{}", serde_json::to_string_pretty(&record)?);
    Ok(())
}

/// Gives a control plane one /etc/kubernetes for all its deployments. What it did is on standard
/// error, because standard output has the findings.
fn share_kubernetes(cli: &Cli) -> Result<()> {
    ensure!(
        cli.root == Path::new("/"),
        "--fix works on the running system only. Run it there, without --root."
    );
    let places = Places::running(&cli.root);
    let record = Store::new(&places.sysroot).read()?;
    if let Some(up) = record.upgrade.filter(|up| !up.phase.is_end()) {
        bail!("upgrade {} is under way. Wait for its end.", up.id);
    }
    // This must precede any thread, because a thread keeps the mounts it started with.
    real::make_writable(&places).context("cannot make the physical root writable")?;
    let (booted, _) = host::boot::booted(&places.sysroot, &places.root)?;
    let share = doctor::Share {
        places,
        booted,
        proc: cli.root.join("proc"),
        services: doctor::Systemd,
    };
    let shared = runtime()?.block_on(share.share())?;
    eprintln!("{}", doctor::told(&shared));
    Ok(())
}

fn examine(cli: &Cli, json: bool, offline: bool) -> Result<ExitCode> {
    let patient = doctor::Patient {
        places: Places::running(&cli.root),
        kernel: cli.root.clone(),
        kubeconfig: cli.kubeconfig.clone(),
        policy: cli.policy.clone(),
        clock: doctor::Clock {
            wall: host::os::wall(),
            in_step: host::os::clock_in_step(),
        },
        measured: measured(&cli.root)?,
    };
    let mut findings = doctor::examine(&patient);
    if !offline {
        let cluster = Cluster::new(&cli.kubeconfig, SILENCE);
        findings.extend(runtime()?.block_on(doctor::server(&cluster)));
    }
    let render = if json { doctor::json } else { doctor::text };
    print!("{}", render(&findings));
    Ok(ExitCode::from(doctor::exit_code(&findings)))
}

/// Another root's services cannot be asked.
fn measured(root: &Path) -> Result<Measured> {
    if root == Path::new("/") {
        Ok(runtime()?.block_on(limits::measure()))
    } else {
        Ok(Measured::default())
    }
}

fn print_metrics(cli: &Cli) -> Result<()> {
    let places = Places::running(&cli.root);
    let read = Store::new(&places.sysroot).read();
    let node = Node::new(places);
    let record = read.clone().unwrap_or_default();
    let shown = Shown {
        seen: node.see(&record)?,
        read,
        link: None,
        policy: policy_file::read(&cli.policy).map_err(Into::into),
        trouble: false,
        disk: node.disk(),
    };
    print!("{}", metrics::text(&shown));
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.context("cannot start the runtime")
}

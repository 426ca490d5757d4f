//! `careen-agent`: wiring. Mounts first, then the runtime, then the loop.

use std::path::PathBuf;
use std::process::ExitCode;

use agent::cluster::SILENCE;
use agent::kubeadm;
use agent::node::real::{self, Node};
use agent::run::{Setup, run};
use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use host::Places;
use host::journal::Store;
use tokio::signal::unix::{SignalKind, signal};
use tracing::Level;
use upgrade::names;

/// Upgrades this node when its Node object is annotated so.
#[derive(Debug, Parser)]
#[command(name = "careen-agent", version)]
struct Cli {
    /// The root of the running system.
    #[arg(long, global = true, default_value = "/")]
    root: PathBuf,
    /// The kubelet's kubeconfig.
    #[arg(long, global = true, default_value = names::KUBELET_CONF)]
    kubeconfig: PathBuf,
    /// The node's policy.
    #[arg(long, global = true, default_value = names::POLICY_FILE)]
    policy: PathBuf,
    /// Log more.
    #[arg(long, short, global = true)]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Watch the Node and serve its requests (the default).
    Run,
    /// Run `kubeadm upgrade node` for the upgrade on trial, before the kubelet starts.
    KubeadmUpgrade,
    /// Print the record as JSON.
    Record,
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    // No filter by expressions: a regex engine would be a tenth of this program.
    let level = if cli.verbose {
        Level::DEBUG
    } else {
        Level::INFO
    };
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_writer(std::io::stderr)
        .without_time()
        .with_target(false)
        .with_ansi(false)
        .init();
    let done = match cli.command {
        None | Some(Command::Run) => serve(&cli),
        Some(Command::KubeadmUpgrade) => kubeadm_upgrade(&cli),
        Some(Command::Record) => print_record(&cli),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("careen-agent: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn serve(cli: &Cli) -> Result<()> {
    let places = Places::running(&cli.root);
    // Before any thread: a thread keeps the mounts it was born with.
    real::make_writable(&places).context("the physical root cannot be made writable")?;
    // A careen-deploy that was killed may have left /boot frozen; then the first write of ours would hang.
    if let Err(error) = host::freeze::thaw(&places.boot) {
        tracing::warn!("{error}");
    }
    let setup = Setup {
        journal: Store::new(&places.sysroot),
        hands: Node::new(places),
        kubeconfig: cli.kubeconfig.clone(),
        silence: SILENCE,
        policy: cli.policy.clone(),
    };
    runtime()?.block_on(async {
        let mut term = signal(SignalKind::terminate())?;
        run(setup, async move {
            term.recv().await;
        })
        .await;
        Ok(())
    })
}

/// Always succeeds for systemd: whether it did is judged by the agent, and the kubelet must start either way.
fn kubeadm_upgrade(cli: &Cli) -> Result<()> {
    let record = Store::new(&Places::running(&cli.root).sysroot).read();
    let Some(id) = record.as_ref().ok().and_then(kubeadm::on_trial) else {
        tracing::info!("no upgrade is on trial");
        return Ok(());
    };
    if let Err(detail) = runtime()?.block_on(kubeadm::run(id)) {
        tracing::warn!("{detail}; the agent tries again");
    }
    Ok(())
}

fn print_record(cli: &Cli) -> Result<()> {
    let record = Store::new(&Places::running(&cli.root).sysroot).read()?;
    println!("{}", serde_json::to_string_pretty(&record)?);
    Ok(())
}

fn runtime() -> Result<tokio::runtime::Runtime> {
    let built = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    built.context("the runtime does not start")
}

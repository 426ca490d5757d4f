//! `careen-provider`: flags and wiring.
//!
//! ```text
//! careen-provider [--kubeconfig FILE]          management cluster; without it the ServiceAccount's
//!     --hook-address 0.0.0.0:9443              hooks, HTTPS
//!     --metrics-address 0.0.0.0:8080           /healthz /readyz /metrics, HTTP
//!     --tls-dir DIR                            tls.crt, tls.key; without it a certificate of our own in Secret --tls-secret
//!     --tls-name NAME                          (repeated) further names or addresses that we are called by; 127.0.0.1, localhost
//!                                              and careen-provider.<namespace>.svc are in it anyway
//!     --client-ca FILE                         only callers with a certificate by this authority
//!     --extension-config careen-provider       whose settings are read
//!     --leader-elect                           by Lease --lease-name in --own-namespace; without it this process leads
//!     --own-namespace careen-system            (env POD_NAMESPACE) for Lease and Secret
//!     --namespace NS                           only this namespace's Machines
//!     --control-planes                         Machines of control planes too
//!     --never-replace  --image-field osImage  --worker-step 3  --answer-seconds 300  --upgrade-seconds 7200
//!     --infrastructure  --release-orphans  --lost-seconds 600   machines of prepared hosts; off
//!     --log-json  --verbose
//! careen-provider manifests DIR [--image IMAGE]   writes the release's files and ends
//! ```

#![deny(clippy::wildcard_enum_match_arm)]

#[cfg(panic = "abort")]
compile_error!(
    "careen-provider catches a panic over one Machine and continues (flow), which panic = \"abort\" of the profile `image` would prevent: build it with CARGO_PROFILE_IMAGE_PANIC=unwind"
);

#[cfg(test)]
mod reference;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::{Parser, Subcommand};
use client::kubeconfig::{self, Variables};
use kube::Client;
use kube::config::Kubeconfig;
use provider::engine::Policy;
use provider::hooks::Limits;
use provider::lease::Candidate;
use provider::run::{Certificate, Setup, run};
use provider::settings::Settings;
use provider::tls::Own;
use tokio::signal::unix::{SignalKind, signal};
use tracing::Level;

/// Upgrades the nodes of Cluster API's Machines in place.
#[derive(Debug, Parser)]
#[command(name = "careen-provider", version = upgrade::release::THIS)]
struct Cli {
    /// The management cluster's kubeconfig; default: the ServiceAccount's.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
    /// The address of the hooks.
    #[arg(long, default_value = "0.0.0.0:9443")]
    hook_address: SocketAddr,
    /// The address of /healthz, /readyz and /metrics.
    #[arg(long, default_value = "0.0.0.0:8080")]
    metrics_address: SocketAddr,
    /// A folder with tls.crt and tls.key.
    #[arg(long)]
    tls_dir: Option<PathBuf>,
    /// The Secret with the certificate that careen-provider makes.
    #[arg(long, default_value = provider::names::TLS_SECRET)]
    tls_secret: String,
    /// More names and addresses for that certificate.
    #[arg(long)]
    tls_name: Vec<String>,
    /// Serve only callers with a certificate of an authority in this file.
    #[arg(long)]
    client_ca: Option<PathBuf>,
    /// The ExtensionConfig whose settings careen-provider reads.
    #[arg(long, default_value = provider::names::MANAGER)]
    extension_config: String,
    /// Elect one of several replicas as leader.
    #[arg(long)]
    leader_elect: bool,
    /// The Lease for the election.
    #[arg(long, default_value = provider::names::MANAGER)]
    lease_name: String,
    /// The namespace of the Lease and the Secret.
    #[arg(long, env = "POD_NAMESPACE", default_value = "careen-system")]
    own_namespace: String,
    /// Handle only this namespace's Machines.
    #[arg(long)]
    namespace: Option<String>,
    /// Hold a rollout that cannot be done in place, so that Cluster API does not replace Machines.
    #[arg(long)]
    never_replace: bool,
    /// Upgrade Machines of control planes in place too, in a rollout of their control plane.
    #[arg(long)]
    control_planes: bool,
    /// Make machines of prepared hosts (experimental; its kinds are not released yet).
    #[arg(long)]
    infrastructure: bool,
    /// Release hosts whose claim no CareenMachine has, without a person.
    #[arg(long, requires = "infrastructure")]
    release_orphans: bool,
    /// Seconds of silence after which a host may be given up, if its Node agrees.
    #[arg(long, default_value_t = infrastructure::Policy::default().lost, value_parser = clap::value_parser!(i64).range(300..))]
    lost_seconds: i64,
    /// A field of an InfraMachine's spec that names an image.
    #[arg(long, default_value = "osImage")]
    image_field: Vec<String>,
    /// The most minor versions of one upgrade of a worker.
    #[arg(long, default_value_t = Policy::default().worker_step)]
    worker_step: u32,
    /// Seconds within which an agent must accept a request.
    #[arg(long, default_value_t = Policy::default().answer_seconds)]
    answer_seconds: i64,
    /// Seconds within which an upgrade must reach its next phase, without pauses, windows and
    /// soaks.
    #[arg(long, default_value_t = Policy::default().upgrade_seconds)]
    upgrade_seconds: i64,
    /// Log in JSON.
    #[arg(long)]
    log_json: bool,
    /// Log more.
    #[arg(long, short)]
    verbose: bool,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the files of a release and exit.
    Manifests {
        /// The folder to write to.
        dir: PathBuf,
        /// The container image that they name. The default is a placeholder that cannot be pulled.
        #[arg(long, default_value = provider::manifests::IMAGE)]
        image: String,
    },
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    log_to_stderr(&cli);
    let done = match &cli.command {
        Some(Command::Manifests { dir, image }) => {
            provider::manifests::write(dir, image).map_err(Into::into)
        }
        None => serve(&cli),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("careen-provider: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn log_to_stderr(cli: &Cli) {
    let level = if cli.verbose {
        "info,provider=debug"
    } else {
        "info"
    };
    let filter = tracing_subscriber::EnvFilter::try_from_default_env();
    let filter = filter.unwrap_or_else(|_| tracing_subscriber::EnvFilter::new(level));
    let filter = without_answers(filter);
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        .with_target(false);
    if cli.log_json {
        log.json().init()
    } else {
        log.init()
    }
    tracing::event!(Level::DEBUG, "flags: {cli:?}");
}

/// kube's client logs an unreadable answer in full. The provider's own message about such an answer
/// is short.
fn without_answers(filter: tracing_subscriber::EnvFilter) -> tracing_subscriber::EnvFilter {
    const QUIET: [&str; 2] = ["kube_client::client=off", "kube_runtime::watcher=off"];
    let quiet = QUIET.into_iter().filter_map(|one| one.parse().ok());
    quiet.fold(filter, tracing_subscriber::EnvFilter::add_directive)
}

fn serve(cli: &Cli) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    runtime.block_on(async {
        let mut term = signal(SignalKind::terminate())?;
        let stop = async move {
            tokio::select! {
                _ = term.recv() => {}
                _ = tokio::signal::ctrl_c() => {}
            }
        };
        run(client(cli)?, setup(cli), |_, _| {}, stop).await?;
        Ok(())
    })
}

fn client(cli: &Cli) -> Result<Client> {
    let variables = Variables::of_process();
    let config = match &cli.kubeconfig {
        None => kubeconfig::inferred(&variables).context("no --kubeconfig was given")?,
        Some(path) => {
            let read = Kubeconfig::read_from(path).map_err(kubeconfig::Error::from);
            let content = read.context("cannot use --kubeconfig")?;
            kubeconfig::config(content, None, &variables)?
        }
    };
    Ok(Client::try_from(config)?)
}

fn setup(cli: &Cli) -> Setup {
    let service = format!("{}.{}.svc", provider::names::MANAGER, cli.own_namespace);
    let mut names = vec![service, "localhost".to_owned(), "127.0.0.1".to_owned()];
    names.extend(cli.tls_name.iter().cloned());
    let own = Own {
        namespace: cli.own_namespace.clone(),
        name: cli.tls_secret.clone(),
        names,
    };
    let candidate = Candidate {
        namespace: cli.own_namespace.clone(),
        name: cli.lease_name.clone(),
        identity: identity(),
    };
    Setup {
        hook_address: cli.hook_address,
        metrics_address: cli.metrics_address,
        namespace: cli.namespace.clone(),
        certificate: cli
            .tls_dir
            .clone()
            .map_or(Certificate::Own(own), Certificate::Given),
        client_ca: cli.client_ca.clone(),
        extension_config: cli.extension_config.clone(),
        lease: cli.leader_elect.then_some(candidate),
        settings: Settings {
            never_replace: cli.never_replace,
            control_planes: cli.control_planes,
            image_fields: cli.image_field.clone(),
            policy: Policy {
                worker_step: cli.worker_step,
                answer_seconds: cli.answer_seconds,
                upgrade_seconds: cli.upgrade_seconds,
                ..Policy::default()
            },
        },
        infrastructure: cli.infrastructure.then(|| infrastructure::Policy {
            lost: cli.lost_seconds,
            release_orphans: cli.release_orphans,
            ..infrastructure::Policy::default()
        }),
        limits: Limits::default(),
    }
}

/// The pod's name, or the process id if there is none, and the start time. No two processes have
/// the same identity.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| std::process::id().to_string());
    format!(
        "{host}_{}",
        k8s_openapi::jiff::Timestamp::now().as_nanosecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_log_level_has_answers_of_servers_logged_whole() {
        let everything = tracing_subscriber::EnvFilter::new("trace,kube_client=trace");
        let filter = without_answers(everything).to_string();
        assert!(filter.contains("kube_client::client=off"), "{filter}");
        assert!(filter.contains("kube_runtime::watcher=off"), "{filter}");
    }
}

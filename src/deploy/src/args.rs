//! The command line, parsed into types before anything is touched.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use upgrade::ContainerImage;
use upgrade::id::Digest;

/// Performs one step of an upgrade on the OSTree sysroot and prints JSON lines: progress, then one
/// verdict.
#[derive(Debug, Parser)]
#[command(name = "careen-deploy", version = upgrade::release::THIS)]
pub struct Cli {
    /// The sysroot; `/` is the running system, anything else a sysroot in a folder.
    #[arg(long, global = true, default_value = "/")]
    pub sysroot: PathBuf,
    /// How long to wait for the sysroot's lock before naming its holder, in seconds.
    #[arg(long, global = true, default_value_t = 60)]
    pub lock_seconds: u64,
    /// How long a program may take that libostree runs while it swaps boot entries, in seconds.
    #[arg(long, global = true, default_value_t = 600, hide = true)]
    pub child_seconds: u64,
    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

/// One verb a run.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// Pull a commit from a remote and check its signature.
    Fetch(Fetch),
    /// Show what a commit would change, without deploying it. Fetches only the metadata needed for
    /// that, and removes it again.
    Plan(Fetch),
    /// Import the OSTree commit of a container image and check its signature.
    FetchImage(FetchImage),
    /// Show what a container image would change, without deploying it. Fetches all of it, and
    /// removes it again.
    PlanImage(FetchImage),
    /// Check the fetched commit's objects, the image's description, and the free room.
    Verify(Target),
    /// Write the commit as a deployment that is not the default.
    Deploy(Deploy),
    /// Make the commit's deployment the default and pin the old one, in one atomic step.
    Bless(Bless),
    /// Make the old system the default again instead of the one on trial.
    Reinstate(Reinstate),
    /// Remove the commit's deployment and all that was made for it; without a commit, what an
    /// unfinished fetch left.
    Undo(Undo),
    /// Remove the deployments that nothing needs and prune the repository.
    Clean,
    /// List the deployments, the default first.
    Status,
    /// Thaw /boot and / in case a killed run left them frozen. Prints nothing; safe at any time.
    Thaw,
    /// Start a pod sandbox at the container runtime and remove it, without touching the sysroot.
    /// Prints nothing, or on standard error why it does not start.
    ProbeSandbox(Probe),
    /// Print the pods whose containers run at the container runtime, one a line, without static
    /// pods and without touching the sysroot.
    RunningPods(Runtime),
}

/// Which container runtime to ask.
#[derive(Debug, Args)]
pub struct Runtime {
    /// The runtime's socket.
    #[arg(long)]
    pub socket: PathBuf,
}

/// What to ask of the container runtime.
#[derive(Debug, Args)]
pub struct Probe {
    /// The runtime's socket.
    #[arg(long)]
    pub socket: PathBuf,
    /// The sandbox must get an address.
    #[arg(long)]
    pub network: bool,
}

/// What to fetch.
#[derive(Debug, Args)]
pub struct Fetch {
    /// The remote's name in the node's OSTree configuration.
    #[arg(long)]
    pub remote: String,
    /// The branch.
    #[arg(long = "ref", value_name = "REF")]
    pub reference: String,
    /// The commit; default: the branch's latest.
    #[arg(long)]
    pub commit: Option<Digest>,
    /// The most bytes a second from the remote.
    #[arg(long, value_name = "BYTES_PER_SECOND", value_parser = clap::value_parser!(u64).range(1024..))]
    pub bandwidth: Option<u64>,
    /// Accept a remote that is configured without signature verification.
    #[arg(long)]
    pub unsigned: bool,
}

/// Which container image to fetch.
#[derive(Debug, Args)]
pub struct FetchImage {
    /// The image, as in careen.dev/image: docker://, oci-archive: or oci:, with its digest.
    #[arg(long)]
    pub image: ContainerImage,
    /// The commit that must be in it; default: any.
    #[arg(long)]
    pub commit: Option<Digest>,
    /// The OSTree remote whose keyring must have signed the commit; without it,
    /// /etc/containers/policy.json must require a signature.
    #[arg(long, value_name = "REMOTE")]
    pub signed_by: Option<String>,
    /// The most bytes a second from the registry.
    #[arg(long, value_name = "BYTES_PER_SECOND", value_parser = clap::value_parser!(u64).range(1024..))]
    pub bandwidth: Option<u64>,
    /// Accept an image whose signature nothing requires.
    #[arg(long)]
    pub unsigned: bool,
    /// The root folder of skopeo, its settings and its credentials (tests only).
    #[arg(long, default_value = "/", hide = true)]
    pub settings: PathBuf,
}

/// The commit that a verb is about.
#[derive(Debug, Args)]
pub struct Target {
    /// The commit.
    #[arg(long)]
    pub commit: Digest,
}

/// What to undo.
#[derive(Debug, Args)]
pub struct Undo {
    /// The commit; without it, what a refused or interrupted fetch left whose commit is not known.
    #[arg(long)]
    pub commit: Option<Digest>,
}

/// What to bless, and over what.
#[derive(Debug, Args)]
pub struct Bless {
    /// The commit.
    #[arg(long)]
    pub commit: Digest,
    /// The default that the trial would fall back to when it was evaluated. If the default or the
    /// running system has changed since, nothing is done.
    #[arg(long, value_name = "COMMIT.SERIAL")]
    pub over: Option<String>,
}

/// What to make the default again, and in whose place.
#[derive(Debug, Args)]
pub struct Reinstate {
    /// The old system.
    #[arg(long, value_name = "COMMIT.SERIAL")]
    pub deployment: String,
    /// The system on trial. If the default has changed since, nothing is done.
    #[arg(long, value_name = "COMMIT.SERIAL")]
    pub over: String,
}

/// What to deploy, and how.
#[derive(Debug, Args)]
pub struct Deploy {
    /// The commit.
    #[arg(long)]
    pub commit: Digest,
    /// Write the deployment again, even if one exists whose /etc is up to date.
    #[arg(long)]
    pub again: bool,
    /// Where it came from.
    #[command(flatten)]
    pub origin: Origin,
}

/// Where a fetched commit came from, and what must vouch for it still.
#[derive(Debug, Default, Args)]
pub struct Origin {
    /// Check the commit's signature again, as this remote's configuration and keys require it
    /// now.
    #[arg(long, conflicts_with = "image")]
    pub remote: Option<String>,
    /// The same for a commit that came in this container image.
    #[arg(long)]
    pub image: Option<ContainerImage>,
    /// The OSTree remote whose keyring must have signed a commit that came in a container image;
    /// without it, /etc/containers/policy.json must require a signature.
    #[arg(long, value_name = "REMOTE", requires = "image")]
    pub signed_by: Option<String>,
    /// Accept a commit whose signature no remote and no container policy requires.
    #[arg(long)]
    pub unsigned: bool,
    /// The root folder of the container tools' settings (tests only).
    #[arg(long, default_value = "/", hide = true)]
    pub settings: PathBuf,
}

impl Verb {
    /// The verb's name, as in the reasons.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Fetch(_) | Self::FetchImage(_) => "fetch",
            Self::Plan(_) | Self::PlanImage(_) => "plan",
            Self::Verify(_) => "verify",
            Self::Deploy(_) => "deploy",
            Self::Bless(_) => "bless",
            Self::Reinstate(_) => "reinstate",
            Self::Undo(_) => "undo",
            Self::Clean => "clean",
            Self::Status => "status",
            Self::Thaw => "thaw",
            Self::ProbeSandbox(_) => "probe-sandbox",
            Self::RunningPods(_) => "running-pods",
        }
    }

    /// Whether libostree may swap the boot entries in it, with the file system of /boot frozen.
    pub const fn swaps(&self) -> bool {
        matches!(
            self,
            Self::Deploy(_) | Self::Bless(_) | Self::Reinstate(_) | Self::Undo(_) | Self::Clean
        )
    }

    /// Whether a signal may stop it. Never inside libostree's swap, where /boot is frozen.
    pub const fn cancellable(&self) -> bool {
        matches!(
            self,
            Self::Fetch(_)
                | Self::FetchImage(_)
                | Self::Plan(_)
                | Self::PlanImage(_)
                | Self::Verify(_)
        )
    }

    /// Whether it brings objects from elsewhere.
    pub const fn brings(&self) -> bool {
        match self {
            Self::Fetch(_) | Self::Plan(_) | Self::FetchImage(_) | Self::PlanImage(_) => true,
            Self::Verify(_)
            | Self::Deploy(_)
            | Self::Bless(_)
            | Self::Reinstate(_)
            | Self::Undo(_)
            | Self::Clean
            | Self::Status
            | Self::Thaw
            | Self::ProbeSandbox(_)
            | Self::RunningPods(_) => false,
        }
    }

    /// The cap on what is fetched, in bytes a second.
    pub const fn bandwidth(&self) -> Option<u64> {
        match self {
            Self::Fetch(fetch) | Self::Plan(fetch) => fetch.bandwidth,
            Self::FetchImage(fetch) | Self::PlanImage(fetch) => fetch.bandwidth,
            Self::Verify(_)
            | Self::Deploy(_)
            | Self::Bless(_)
            | Self::Reinstate(_)
            | Self::Undo(_)
            | Self::Clean
            | Self::Status
            | Self::Thaw
            | Self::ProbeSandbox(_)
            | Self::RunningPods(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    const PAGE: &str = include_str!("../../../docs/architecture.md");

    /// The flags that the page lists for a verb, those of the verb that it is said to be like among
    /// them.
    fn listed(verb: &str) -> Option<String> {
        let row = PAGE
            .lines()
            .find(|line| line.starts_with(&format!("| `{verb}` |")))?;
        let cell = row.split('|').nth(2)?;
        let (_, like) = cell.split_once("as `").unwrap_or_default();
        let like = like.split('`').next().filter(|like| !like.is_empty());
        let others = like.and_then(listed).unwrap_or_default();
        Some(format!("{cell}{others}"))
    }

    #[test]
    fn the_table_of_verbs_in_the_docs_has_every_verb_and_flag() {
        let mut command = Cli::command();
        command.build();
        for verb in command
            .get_subcommands()
            .filter(|verb| verb.get_name() != "help")
        {
            let name = verb.get_name();
            let row = listed(name).unwrap_or_else(|| panic!("{name} has no row"));
            let own = verb
                .get_arguments()
                .filter(|flag| !flag.is_hide_set() && !flag.is_global_set());
            for flag in own
                .filter_map(clap::Arg::get_long)
                .filter(|flag| *flag != "help" && *flag != "version")
            {
                assert!(
                    row.contains(&format!("--{flag} ")) || row.contains(&format!("--{flag}]")),
                    "{name} --{flag}: {row}"
                );
            }
        }
    }
}

//! The command line. The man page, the completions and `docs/kubectl-careen.md` are generated from
//! it.

mod host;
mod nodes;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use upgrade::policy::SOAK_MAX;
use upgrade::{Source, Target, Version, Wanted};

pub use host::{Host, Hosts, Token as HostToken, Verb as HostVerb};
pub use nodes::{Choice, Chosen, ChosenOrAll};

use crate::duration::Span;
use crate::rollout::{Pace, Width};
use nodes::node_name;

/// Why a node is paused when no reason is given.
pub const BY_HAND: &str = "paused by hand";

/// The timeout for an answer that needs a few small objects of the image and a rehearsal of the
/// drain.
const METADATA: Duration = Duration::from_secs(2 * 60);

/// The timeout for an answer that needs all missing layers of a container image: a gigabyte at ten
/// megabits per second.
const LAYERS: Duration = Duration::from_secs(15 * 60);

/// Request node upgrades, watch them, and see what holds them up.
#[derive(Clone, Debug, Parser)]
#[command(name = "kubectl-careen", bin_name = "kubectl careen", version = upgrade::release::THIS)]
pub struct Cli {
    /// The kubeconfig to use instead of KUBECONFIG and ~/.kube/config.
    #[arg(long, global = true, value_name = "FILE", help_heading = "Connection")]
    pub kubeconfig: Option<PathBuf>,
    /// The context to use instead of the current one.
    #[arg(long, global = true, value_name = "NAME", help_heading = "Connection")]
    pub context: Option<String>,
    /// The output format, instead of text for people.
    #[arg(
        short,
        long,
        global = true,
        value_name = "FORMAT",
        help_heading = "Output"
    )]
    pub output: Option<Format>,
    /// When to use colours; `auto` means on a terminal without NO_COLOR.
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        help_heading = "Output"
    )]
    pub color: When,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// When to do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// How data is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// More columns.
    Wide,
    /// JSON.
    Json,
    /// YAML.
    Yaml,
}

/// What to do.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Show what an upgrade would do to a node, without changing anything.
    Plan(Plan),
    /// Request an upgrade of nodes.
    Upgrade(Upgrade),
    /// Show the progress of nodes.
    Status(Status),
    /// Explain the state of a node, and what to do.
    Explain(Explain),
    /// Show the last upgrades of nodes, latest first.
    History(History),
    /// Withdraw a request; possible until the node is armed.
    Cancel(Cancel),
    /// Repeat a request that has failed.
    Retry(Retry),
    /// Undo the last upgrade if it succeeded: go back to the kept system, as an upgrade with its
    /// own drain and trial.
    Rollback(Rollback),
    /// Pause nodes: they begin nothing new; an armed upgrade continues, any other waits.
    Pause(Pause),
    /// End a pause; pauses with a reason stay unless you name it.
    Resume(Resume),
    /// Show who holds the lock of the control plane, and remove the lock after a confirmation.
    Unlock(Unlock),
    /// Prepared hosts of the infrastructure provider, which is not released yet.
    #[command(hide = true)]
    Host(Host),
    /// Print a completion script for a shell.
    Completion(Completion),
}

/// `plan`.
#[derive(Args, Clone, Debug)]
pub struct Plan {
    /// The node.
    #[arg(value_parser = node_name)]
    pub node: String,
    /// The image, or `kept:` for what `rollback` would do.
    #[arg(long)]
    pub image: Wanted,
    /// How long to wait for the answer (default: 2m, or 15m for a container image, whose missing
    /// layers are all fetched).
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
}

impl Plan {
    /// How long to wait for the answer.
    #[must_use]
    pub fn patience(&self) -> Duration {
        let usual = match &self.image {
            Wanted::Image(target) => match target.source {
                Source::Container(_) => LAYERS,
                Source::Remote(_) => METADATA,
            },
            Wanted::Kept => METADATA,
        };
        self.timeout.map_or(usual, |Span(given)| given)
    }
}

/// `upgrade`.
#[derive(Args, Clone, Debug)]
pub struct Upgrade {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: Chosen,
    /// The image; name its commit, so that all nodes get the same.
    #[arg(long)]
    pub image: Target,
    /// The version that the image must carry.
    #[arg(long, value_name = "VERSION")]
    pub kubernetes_version: Option<Version>,
    /// Also request it for a node whose last trial of this image failed.
    #[arg(long)]
    pub again: bool,
    /// How to ask.
    #[command(flatten)]
    pub asking: Asking,
}

/// `retry`.
#[derive(Args, Clone, Debug)]
pub struct Retry {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: Chosen,
    /// How to ask.
    #[command(flatten)]
    pub asking: Asking,
}

/// `rollback`.
#[derive(Args, Clone, Debug)]
pub struct Rollback {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: Chosen,
    /// Also for a node on which this undoes no upgrade: the node changes to the system that it
    /// keeps, whichever that is. A node that has already gone back goes forward again.
    #[arg(long)]
    pub again: bool,
    /// Only nodes whose last upgrade was to this image.
    #[arg(long, value_name = "IMAGE", conflicts_with = "again")]
    pub from: Option<Target>,
    /// How to ask.
    #[command(flatten)]
    pub asking: Asking,
}

/// How to ask.
#[derive(Args, Clone, Debug)]
pub struct Asking {
    /// Show progress until every node is done.
    #[arg(short, long)]
    pub watch: bool,
    /// Upgrade N nodes, or N percent of them (10%), at a time, and the next one when one has
    /// succeeded. Implies --watch.
    #[arg(long, value_name = "N", group = "width")]
    pub at_once: Option<Width>,
    /// The same as --at-once 1.
    #[arg(long, group = "width")]
    pub one_by_one: bool,
    /// Stop after N nodes that did not succeed (default: 1). Upgrades under way are watched to
    /// their end.
    #[arg(long, value_name = "N", requires = "width")]
    pub stop_after: Option<NonZeroUsize>,
    /// How long the new system must be healthy before it stays, at most 24h; a longer time in the
    /// node's policy applies instead.
    #[arg(long, value_name = "TIME", value_parser = soak)]
    pub soak: Option<Span>,
    /// How long to watch at most; with --at-once, per node.
    #[arg(long, value_name = "TIME")]
    pub timeout: Option<Span>,
    /// Skip the confirmation prompt.
    #[arg(short, long)]
    pub yes: bool,
    /// Only let the server validate the change.
    #[arg(long, conflicts_with_all = ["watch", "width"])]
    pub dry_run: bool,
}

impl Asking {
    /// Whether the command waits for the end.
    #[must_use]
    pub const fn watches(&self) -> bool {
        self.watch || self.one_by_one || self.at_once.is_some()
    }

    /// How a rollout over this many nodes proceeds, or nothing if all are requested at once.
    #[must_use]
    pub fn pace(&self, nodes: usize) -> Option<Pace> {
        let at_once = match self.at_once {
            Some(width) => width.of(nodes),
            None if self.one_by_one => 1,
            None => return None,
        };
        Some(Pace {
            at_once,
            stop_after: self.stop_after.map_or(1, NonZeroUsize::get),
        })
    }
}

/// Parses a soak, up to the maximum that an agent accepts.
fn soak(text: &str) -> Result<Span, String> {
    let span: Span = text.parse()?;
    match span.0.as_secs() <= SOAK_MAX {
        true => Ok(span),
        false => Err("the longest accepted time is 24h".to_owned()),
    }
}

/// `status`.
#[derive(Args, Clone, Debug)]
pub struct Status {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: ChosenOrAll,
    /// Keep showing changes.
    #[arg(short, long)]
    pub watch: bool,
}

/// `explain`.
#[derive(Args, Clone, Debug)]
pub struct Explain {
    /// The node.
    #[arg(value_parser = node_name)]
    pub node: String,
}

/// `history`.
#[derive(Args, Clone, Debug)]
pub struct History {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: ChosenOrAll,
}

/// `cancel`.
#[derive(Args, Clone, Debug)]
pub struct Cancel {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: Chosen,
    /// Only let the server validate the change.
    #[arg(long)]
    pub dry_run: bool,
}

/// `pause`.
#[derive(Args, Clone, Debug)]
pub struct Pause {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: ChosenOrAll,
    /// The reason, for other people.
    #[arg(long, value_name = "TEXT", default_value = BY_HAND, value_parser = NonEmptyStringValueParser::new())]
    pub reason: String,
    /// Only let the server validate the change.
    #[arg(long)]
    pub dry_run: bool,
}

/// `resume`.
#[derive(Args, Clone, Debug)]
pub struct Resume {
    /// Which nodes.
    #[command(flatten)]
    pub nodes: ChosenOrAll,
    /// End the pauses with this reason (default: those without a reason).
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub reason: Option<String>,
    /// End every pause, whatever its reason.
    #[arg(long, conflicts_with = "reason")]
    pub any_reason: bool,
    /// Only let the server validate the change.
    #[arg(long)]
    pub dry_run: bool,
}

/// `unlock`.
#[derive(Args, Clone, Debug)]
pub struct Unlock {
    /// Only if this upgrade of this node holds the lock, or the person with this name.
    #[arg(long, value_name = "NODE/ID", value_parser = NonEmptyStringValueParser::new())]
    pub holder: Option<String>,
    /// Skip the confirmation prompt.
    #[arg(short, long)]
    pub yes: bool,
}

/// `completion`.
#[derive(Args, Clone, Debug)]
pub struct Completion {
    /// The shell.
    pub shell: Shell,
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn upgrade_accepts_valid_pace_flags_and_rejects_the_others() {
        let pace = |more: &str| {
            let line = format!("kubectl-careen upgrade a --image ostree:careen:os{more}");
            let Command::Upgrade(upgrade) = parse(&line)?.command else {
                panic!("{line}")
            };
            let pace = upgrade.asking.pace(200);
            Ok::<_, clap::Error>(pace.map(|pace| (pace.at_once, pace.stop_after)))
        };
        assert_eq!(pace("").unwrap(), None);
        assert_eq!(pace(" --one-by-one").unwrap(), Some((1, 1)));
        assert_eq!(pace(" --at-once 5").unwrap(), Some((5, 1)));
        let share = pace(" --at-once 10% --stop-after 3");
        assert_eq!(share.unwrap(), Some((20, 3)));
        for bad in [
            " --at-once 0",
            " --stop-after 2",
            " --at-once 2 --one-by-one",
            " --at-once 2 --dry-run",
            " --one-by-one --stop-after 0",
            " --soak 25h",
            " --soak 0s",
        ] {
            assert_eq!(pace(bad).unwrap_err().exit_code(), 2, "{bad}");
        }
        assert!(pace(" --soak 24h").is_ok());
    }

    fn parse(line: &str) -> Result<Cli, clap::Error> {
        Cli::try_parse_from(line.split(' '))
    }

    #[test]
    fn an_upgrade_wants_nodes_one_way_and_not_both() {
        let image = "--image ostree:careen:os";
        assert!(parse(&format!("kubectl-careen upgrade {image}")).is_err());
        assert!(parse(&format!("kubectl-careen upgrade a -l x=y {image}")).is_err());
        assert!(parse(&format!("kubectl-careen upgrade a b {image} --yes")).is_ok());
        assert!(parse(&format!("kubectl-careen upgrade -l x=y {image} -o json")).is_ok());
    }

    #[test]
    fn empty_node_name_or_selector_is_a_usage_error() {
        for line in [
            "status|",
            "status|-l|",
            "pause|-l|",
            "explain|",
            "history|",
            "history|-l|",
            "plan||--image|kept:",
        ] {
            let error = Cli::try_parse_from(format!("kubectl-careen|{line}").split('|'));
            assert_eq!(error.unwrap_err().exit_code(), 2, "{line}");
        }
    }

    #[test]
    fn plan_waits_longer_for_container_images_without_a_timeout() {
        let patience = |line: &str| {
            let Command::Plan(plan) = parse(&format!("kubectl-careen plan a {line}"))
                .unwrap()
                .command
            else {
                panic!("{line}")
            };
            plan.patience().as_secs()
        };
        let digest = "b".repeat(64);
        for container in [
            "docker://example.com/os",
            "oci-archive:/srv/os.tar",
            "oci:/srv/os",
        ] {
            let image = format!("--image {container}@sha256:{digest}");
            assert_eq!(patience(&image), 15 * 60);
            assert_eq!(patience(&format!("{image} --timeout 20s")), 20);
        }
        for other in ["ostree:careen:os", "kept:"] {
            assert_eq!(patience(&format!("--image {other}")), 2 * 60);
        }
    }

    #[test]
    fn a_malformed_image_is_refused_with_the_accepted_form() {
        let error = parse("kubectl-careen upgrade a --image docker.io/os:latest").unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let said = error.to_string();
        assert!(said.contains(upgrade::target::ACCEPTED_IMAGE), "{said}");
    }
}

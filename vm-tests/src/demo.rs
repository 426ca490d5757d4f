//! A demonstration of Careen on one machine: in each of its three modes, on a control plane, as in
//! the tutorial, and with a reader's own image, disk and node.

mod act;
mod annotate;
mod capi;
mod control_plane;
mod daemonset;
mod live;
mod newcomer;
mod prepare;
mod samples;
mod table;
mod tutorial;

use anyhow::Result;
use clap::ValueEnum;

/// The way to request upgrades and to install the agent, or the pages to type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Way {
    /// Annotate a Node: an upgrade, then a bad image and the way back
    Annotate,
    /// A DaemonSet brings the agent, then the Node is annotated
    Daemonset,
    /// Cluster API: a rollout that holds at a bad image, and the image that heals it
    ClusterApi,
    /// The only control-plane node: an upgrade, a bad image, and etcd restored from its snapshot
    ControlPlane,
    /// The tutorial: each of its lines, as a newcomer types them (half an hour)
    Tutorial,
    /// An image, a disk and a node of one's own, as docs/images.md and docs/install.md say (more
    /// than an hour)
    Newcomer,
}

/// Runs the demo and prints which other ways there are.
///
/// # Errors
///
/// Fails when a part does not start, or the demo ends in an unexpected way.
pub async fn run(way: Way) -> Result<()> {
    prepare::prepare()?;
    match way {
        Way::Annotate => annotate::run().await?,
        Way::Daemonset => daemonset::run().await?,
        Way::ClusterApi => capi::run().await?,
        Way::ControlPlane => control_plane::run().await?,
        Way::Tutorial => tutorial::run().await?,
        Way::Newcomer => newcomer::run().await?,
    }
    println!("\nThe ways to use it; this was {}:", way.command());
    for way in Way::value_variants() {
        println!("  {:<28}{}", way.command(), way.help());
    }
    Ok(())
}

impl Way {
    fn name(self) -> String {
        let value = self.to_possible_value();
        value
            .map(|value| value.get_name().to_owned())
            .unwrap_or_default()
    }

    fn command(self) -> String {
        format!("make demo WAY={}", self.name())
    }

    fn help(self) -> String {
        let value = self.to_possible_value();
        let help = value.as_ref().and_then(|value| value.get_help());
        help.map(ToString::to_string).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use testkit::programs;

    fn file(name: &str) -> Result<String> {
        Ok(std::fs::read_to_string(
            programs::home().join("..").join(name),
        )?)
    }

    #[test]
    fn readme_names_the_command_of_each_way() -> Result<()> {
        let readme = file("README.md")?;
        for way in Way::value_variants() {
            let command = way.command();
            let setting = command.trim_start_matches("make demo ");
            assert!(
                readme.contains(setting),
                "README.md does not name {setting}"
            );
        }
        Ok(())
    }

    #[test]
    fn makefile_accepts_each_way_and_no_other() -> Result<()> {
        let names: Vec<String> = Way::value_variants().iter().map(|way| way.name()).collect();
        let list = format!("WAYS := {}\n", names.join(" "));
        assert!(
            file("Makefile")?.contains(&list),
            "Makefile does not say {list:?}"
        );
        Ok(())
    }

    #[test]
    fn demo_has_six_ways_and_each_has_help() {
        let ways = Way::value_variants();
        assert_eq!(ways.len(), 6);
        assert!(ways.iter().all(|way| !way.help().is_empty()));
    }
}

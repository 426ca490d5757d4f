//! The metrics that the agent serves on the node.

use std::collections::BTreeMap;

use anyhow::Context;

use super::super::prelude::*;

/// The address on which the agent serves metrics, as in docs/monitoring.md.
pub const LISTEN: &str = "127.0.0.1:9840";

/// The prefix of each name.
const PREFIX: &str = "careen_agent_";

/// The metrics at one moment: each value by its name without the prefix, with its labels verbatim.
#[derive(Debug, Clone, PartialEq)]
pub struct Metrics(BTreeMap<String, f64>);

impl Metrics {
    fn of(text: &str) -> Result<Self> {
        let samples = text.lines().filter_map(|line| line.strip_prefix(PREFIX));
        let sample = |line: &str| -> Result<(String, f64)> {
            let (name, value) = line.rsplit_once(' ').context("a line without a value")?;
            Ok((name.to_owned(), value.parse()?))
        };
        let read: Result<BTreeMap<_, _>> = samples.map(sample).collect();
        Ok(Self(read.with_context(|| format!("no metrics: {text}"))?))
    }

    /// The value of this name, with its labels.
    ///
    /// # Errors
    ///
    /// Fails when there is none.
    pub fn value(&self, name: &str) -> Result<f64> {
        let found = self.0.get(name).copied();
        found.with_context(|| format!("no {name} among {:#?}", self.0))
    }

    /// Checks that each of these metrics has its value.
    ///
    /// # Errors
    ///
    /// Fails when one does not have it.
    pub fn expect(&self, wanted: &[(&str, f64)]) -> Result<()> {
        for &(name, value) in wanted {
            let found = self.value(name)?;
            ensure!(found == value, "{name} is {found}, not {value}");
        }
        Ok(())
    }

    /// Checks that each of these metrics is between the two values, both included.
    ///
    /// # Errors
    ///
    /// Fails when one is not, or is missing.
    pub fn expect_between(&self, least: f64, most: f64, names: &[&str]) -> Result<()> {
        for name in names {
            let found = self.value(name)?;
            ensure!(
                (least..=most).contains(&found),
                "{name} is {found}, not between {least} and {most}"
            );
        }
        Ok(())
    }
}

/// The metrics that the agent serves now at [`LISTEN`], which the policy must name. Waits for an
/// agent that has just started.
///
/// # Errors
///
/// Fails when it serves nothing in time.
pub async fn metrics(rig: &mut Rig) -> Result<Metrics> {
    let ask = format!("curl --silent --fail --max-time 20 http://{LISTEN}/metrics");
    let script = format!("until {ask} >/run/rig-metrics; do sleep 1; done; cat /run/rig-metrics");
    let text = rig.guest.run(&script).await?;
    Metrics::of(&text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVED: &str = "# HELP careen_agent_phase 1 for the phase.\n\
        # TYPE careen_agent_phase gauge\n\
        careen_agent_phase{phase=\"Trial\"} 1.0\n\
        careen_agent_requests_total{outcome=\"refused\",reason=\"OptedOut\"} 2\n\
        # EOF\n";

    #[test]
    fn each_value_is_found_by_its_name_and_labels() {
        let metrics = Metrics::of(SERVED).unwrap();
        let refused = "requests_total{outcome=\"refused\",reason=\"OptedOut\"}";
        let both = [("phase{phase=\"Trial\"}", 1.0), (refused, 2.0)];
        metrics.expect(&both).unwrap();
        metrics.expect_between(1.0, 2.0, &[refused]).unwrap();
        assert!(metrics.expect(&[(refused, 1.0)]).is_err());
        assert!(metrics.expect_between(2.5, 9.0, &[refused]).is_err());
        assert!(metrics.value("phase{phase=\"Armed\"}").is_err());
        assert!(Metrics::of("careen_agent_phase\n").is_err());
    }
}

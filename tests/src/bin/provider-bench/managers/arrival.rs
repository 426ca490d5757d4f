//! The time from an agent's final status until the Machine itself reports it, after core's next
//! call.

use std::collections::BTreeMap;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use careen_tests::measured::{median, percentile};
use futures::FutureExt;
use kube::ResourceExt;
use kube::api::{Api, DynamicObject, ListParams};
use serde_json::{Value, json};

use super::PATIENCE;
use super::scene::Scene;
use crate::calls;
use crate::conditions::Conditions;
use crate::landing::Landing;
use crate::row::Measure;

/// A Machine that is about to land.
#[derive(Clone)]
pub struct Flight {
    name: String,
    call: Value,
}

impl Flight {
    /// The name of the Machine, and of its Node.
    pub fn name(&self) -> &str {
        &self.name
    }
}

/// A Machine that has landed.
pub struct Arrival {
    /// Milliseconds until the InfraMachine and the next answer reported it.
    seen: f64,
    /// Seconds until the Machine itself reported it.
    up_to_date: f64,
    /// The interval in seconds that core got at its last call.
    interval: f64,
}

/// What an arrival needs.
pub struct Tower {
    /// Agents, InfraMachines and hooks.
    pub landing: Landing,
    /// The Machines' own condition.
    pub up_to_date: Conditions,
}

impl Tower {
    /// Lands one Machine. Core is at an unknown point of an interval. The hook reports the length
    /// of the interval to the benchmark as it does to core.
    pub async fn one(self: Arc<Self>, flight: Flight) -> Result<Arrival> {
        let Flight { name, call } = flight;
        let (interval, _) = self.landing.hooks.update(&call).await?;
        ensure!(interval > 0, "{name} is called done before its agent was");
        let up_to_date = self.up_to_date.expect(&name).shared();
        let landed = self.landing.land(&name, &call, up_to_date.clone()).await?;
        let at = tokio::time::timeout(PATIENCE, up_to_date).await;
        let at = at.with_context(|| {
            format!("{name} is done, but core does not call its Machine UpToDate")
        })??;
        Ok(Arrival {
            seen: landed.milliseconds(),
            up_to_date: at.duration_since(landed.word).as_secs_f64(),
            interval: interval as f64,
        })
    }
}

/// All Machines, with core's calls for them.
pub async fn flights(scene: &Scene) -> Result<Vec<Flight>> {
    let machines = by_name(&scene.machines()?).await?;
    let infra = by_name(&scene.infra_machines()).await?;
    let configs = by_name(&scene.bootstrap_configs()?).await?;
    let flight = |(name, machine): (String, Value)| {
        let part = |of: &BTreeMap<String, Value>, kind: &str| {
            let found = of.get(&name).cloned();
            found.with_context(|| format!("Machine {name} has no {kind} of its name"))
        };
        let (infra, config) = (
            part(&infra, "InfraMachine")?,
            part(&configs, "KubeadmConfig")?,
        );
        let call = calls::update_to(&machine, &infra, &config);
        Ok(Flight { name, call })
    };
    machines.into_iter().map(flight).collect()
}

async fn by_name(api: &Api<DynamicObject>) -> Result<BTreeMap<String, Value>> {
    let all = api.list(&ListParams::default()).await?;
    Ok(all.iter().map(|one| (one.name_any(), sent(one))).collect())
}

/// What core sends of an object: its desired state, not its current state.
fn sent(object: &DynamicObject) -> Value {
    json!({
        "metadata": {
            "name": object.name_any(), "namespace": object.namespace(),
            "labels": object.labels(), "annotations": object.annotations(),
        },
        "spec": object.data["spec"],
    })
}

/// The rows of the table. A status that arrives at any point of an interval waits for the rest of
/// the interval: half of it at the median, nearly all of it at the highest percentile.
pub fn measures(arrivals: &[Arrival]) -> Vec<Measure> {
    let of = |what: fn(&Arrival) -> f64| arrivals.iter().map(what).collect::<Vec<f64>>();
    let (seen, up_to_date) = (of(|one| one.seen), of(|one| one.up_to_date));
    let interval = median(&of(|one| one.interval));
    vec![
        Measure::at_most(
            "agent's answer to condition and next hook answer, p99, ms",
            percentile(&seen, 99),
            1000.0,
        ),
        Measure::shown("   median, ms", median(&seen)),
        Measure::shown(
            "agent's answer to the Machine's own UpToDate, p99, s",
            percentile(&up_to_date, 99),
        ),
        Measure::floor("   floor, p99: core's next call, s", waited(interval, 99)),
        Measure::shown("   median, s", median(&up_to_date)),
        Measure::floor("   floor, median, s", waited(interval, 50)),
        Measure::shown("   the interval that was named to core, s", interval),
    ]
}

/// The longest wait of this percentage of statuses, if they arrive evenly over an interval and wait
/// until its end.
fn waited(interval: f64, percent: u32) -> f64 {
    interval * f64::from(percent) / 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(measures: &[Measure], name: &str) -> Value {
        let all = json!(measures);
        let all = all.as_array().unwrap();
        all.iter().find(|row| row["name"] == name).unwrap()["value"].clone()
    }

    #[test]
    fn arrival_floor_is_the_rest_of_the_interval_given_to_core() {
        let arrival = |interval| Arrival {
            seen: 20.0,
            up_to_date: 3.0,
            interval,
        };
        let measures = measures(&[arrival(5.0), arrival(5.0), arrival(5.0)]);
        assert_eq!(row(&measures, "   floor, median, s"), 2.5);
        assert_eq!(row(&measures, "   floor, p99: core's next call, s"), 4.95);
    }
}

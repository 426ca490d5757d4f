//! All nodes in flight. Core calls for each of them, and from time to time one lands.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Result;
use careen_tests::measured::{median, percentile};
use tokio::task::JoinSet;
use tokio::time::MissedTickBehavior;

use crate::agents::Agents;
use crate::caller::{Called, Caller};
use crate::landing::{ByHand, Landing};
use crate::process::Provider;
use crate::row::Measure;

/// The observation time.
const WINDOW: Duration = Duration::from_secs(60);

/// The maximum number of landings in that time: ten a second, as with 10,000 nodes that take a
/// quarter of an hour each.
const LANDINGS: usize = 600;

/// The number of calls of other hooks, and of the floor's requests: one a second.
const FEW: usize = 60;

/// The number of Discovery calls: a p99 needs more than a hundred.
const MANY: usize = 600;

/// The number of nodes that begin together.
const BATCH: usize = 500;

/// The timeout for such a batch until it works. It takes one or two seconds on an idle machine.
const PATIENCE: Duration = Duration::from_secs(300);

/// Brings all nodes to work on a request, in batches as rollouts begin.
pub async fn begin(caller: &mut Caller, agents: &Agents, nodes: usize) -> Result<()> {
    for first in (0..nodes).step_by(BATCH) {
        let end = nodes.min(first + BATCH);
        (first..end).for_each(|number| caller.begin(number));
        agents.until_working(end, PATIENCE).await?;
        eprintln!("{end} of {nodes} nodes work");
    }
    Ok(())
}

/// The results under load. Times are in milliseconds.
struct Seen {
    landed: Vec<f64>,
    by_hand: Vec<f64>,
    discovered: Vec<f64>,
    can_updates: Vec<f64>,
    called: Called,
    processor: f64,
    seconds: f64,
}

/// Measures all quantities under load at the same time.
pub async fn measure(
    nodes: usize,
    caller: &Caller,
    provider: &Provider,
    (landing, by_hand): (&Arc<Landing>, &ByHand),
) -> Result<Vec<Measure>> {
    // Calls from the start of the nodes do not belong to this load.
    drop(caller.take());
    let (begun, before) = (Instant::now(), provider.processor()?);
    let hooks = &landing.hooks;
    let (landed, by_hand, discovered, can_updates) = tokio::try_join!(
        land(landing, nodes),
        paced(FEW, |number| by_hand.one(number)),
        paced(MANY, |_| hooks.discover()),
        paced(FEW, |number| hooks.can_update(number)),
    )?;
    let seen = Seen {
        landed,
        by_hand,
        discovered,
        can_updates,
        called: caller.take(),
        processor: provider.processor()? - before,
        seconds: begun.elapsed().as_secs_f64(),
    };
    if let Some(first) = seen.called.failures.first() {
        eprintln!("a call that failed: {first}");
    }
    Ok([of_landings(&seen), of_calls(&seen)].concat())
}

fn of_landings(seen: &Seen) -> Vec<Measure> {
    let (landed, by_hand) = (&seen.landed, &seen.by_hand);
    let (p99, floor) = (percentile(landed, 99), percentile(by_hand, 99));
    vec![
        Measure::at_most(
            "agent's answer to condition and next hook answer, p99, ms",
            p99,
            1000.0,
        ),
        Measure::shown("   median, ms", median(landed)),
        Measure::floor("   floor, p99: PATCH, GET, PATCH by one hand, ms", floor),
        Measure::floor("   floor, median, ms", median(by_hand)),
    ]
}

fn of_calls(seen: &Seen) -> Vec<Measure> {
    let (times, failed) = (&seen.called.times, seen.called.failures.len());
    let (floor, can) = (&seen.discovered, &seen.can_updates);
    let calls = times.len() + floor.len() + can.len();
    let a_call = seen.processor / calls as f64;
    vec![
        Measure::at_most("UpdateMachine, p99, ms", percentile(times, 99), 10.0),
        Measure::floor(
            "   floor, p99: Discovery meanwhile, ms",
            percentile(floor, 99),
        ),
        Measure::shown("   calls a second", times.len() as f64 / seen.seconds),
        Measure::at_most("   calls that failed", failed as f64, 0.0),
        Measure::shown(
            "CanUpdateMachine and CanUpdateMachineSet, p99, ms",
            percentile(can, 99),
        ),
        Measure::shown("processor a call, with the landings, ms", a_call),
    ]
}

/// Lands Machines over the whole window. Half of them stay in flight, for any number of nodes.
async fn land(landing: &Arc<Landing>, nodes: usize) -> Result<Vec<f64>> {
    let count = LANDINGS.min(nodes / 2);
    // Uses only even numbers, because the Machine for the floor is odd.
    let one = |turn: usize| Arc::clone(landing).one(turn * 2);
    spread(count, one).await
}

/// Begins this many, evenly over the window, and waits for all of them.
pub async fn spread<F, T>(count: usize, mut begin: impl FnMut(usize) -> F) -> Result<Vec<T>>
where
    F: Future<Output = Result<T>> + Send + 'static,
    T: Send + 'static,
{
    let mut under_way = JoinSet::new();
    let one = |turn: usize| {
        under_way.spawn(begin(turn));
        std::future::ready(Ok(0.0))
    };
    paced(count, one).await?;
    let mut ended = Vec::new();
    while let Some(one) = under_way.join_next().await {
        ended.push(one??);
    }
    Ok(ended)
}

/// Runs this many one after the other, evenly over the window. It does not catch up after a delay,
/// because that would add load.
async fn paced<F>(count: usize, mut one: impl FnMut(usize) -> F) -> Result<Vec<f64>>
where
    F: Future<Output = Result<f64>>,
{
    let pause = WINDOW / u32::try_from(count.max(1))?;
    let mut clock = tokio::time::interval(pause);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut times = Vec::new();
    for number in 0..count {
        clock.tick().await;
        times.push(one(number).await?);
    }
    Ok(times)
}

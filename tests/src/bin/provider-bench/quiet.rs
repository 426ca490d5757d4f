//! All nodes in flight without any change: the provider's requests to the workload cluster, and its
//! cost.

use std::time::Duration;

use anyhow::Result;
use careen_tests::requests::Requests;

use crate::process::Provider;
use crate::row::Measure;

/// The time for running operations to end.
const SETTLE: Duration = Duration::from_secs(15);

/// The observation time: four lifetimes of a watch (60 s). Each watch restarts four times in it, or
/// five times when restarts fall on both ends.
const WINDOW: Duration = Duration::from_secs(240);

/// Two watches with five restarts each, in four minutes.
const MOST: f64 = 2.5;

/// No client calls the hooks during this measurement.
pub async fn measure(provider: &Provider, requests: &Requests) -> Result<Vec<Measure>> {
    tokio::time::sleep(SETTLE).await;
    eprintln!("nothing changes for {} s", WINDOW.as_secs());
    let before = (requests.so_far().await?, provider.processor()?);
    tokio::time::sleep(WINDOW).await;
    let after = (requests.so_far().await?, provider.processor()?);
    let asked = (after.0 - before.0) as f64;
    let millicores = (after.1 - before.1) / WINDOW.as_secs_f64();
    Ok(vec![
        Measure::at_most(
            "requests to the workload cluster a minute, nothing changing",
            asked * 60.0 / WINDOW.as_secs_f64(),
            MOST,
        ),
        Measure::floor("   floor: two watches that last 60 s", 2.0),
        Measure::shown("   processor meanwhile, thousandths", millicores),
    ])
}

//! All nodes in flight and nothing that changes: what careen-provider asks of the workload cluster, and what it costs.

use std::time::Duration;

use anyhow::Result;
use careen_tests::requests::Requests;

use crate::process::Provider;
use crate::row::Measure;

/// How long whatever was begun has to come to its end.
const SETTLE: Duration = Duration::from_secs(15);

/// How long it is looked at: four lives of a watch (60 s), so that each is made anew four times or, with its ends at the ends of this, five
/// times.
const WINDOW: Duration = Duration::from_secs(240);

/// Two watches, five times each, in four minutes.
const MOST: f64 = 2.5;

/// Nobody calls any more when this is measured.
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

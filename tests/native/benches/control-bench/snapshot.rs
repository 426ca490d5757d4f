//! C5: a snapshot of etcd, beside the same stream by curl.

use std::path::Path;

use anyhow::{Context, Result};
use careen_tests::measured::median;
use careen_tests::row::Row;
use native::{Cluster, Etcd, Member};
use serde_json::json;

use crate::measured::{self, Took};

/// The bytes of one value. etcd takes no request of more than 1.5 MiB.
const VALUE: usize = 1 << 20;

/// What the snapshot of 1 GB may take of memory.
const MOST_MIB: f64 = 64.0;

/// Where the stream goes by hand: the file system of the snapshots.
const STREAM: &str = "/var/lib/bench-stream.json";

/// One size of the database, in MiB, and the names of its rows.
struct Size {
    mib: usize,
    names: [&'static str; 3],
    target: Option<f64>,
}

const SIZES: [Size; 2] = [
    Size {
        mib: 100,
        names: [
            "C5 snapshot of 100 MiB, over curl",
            "   s",
            "   most memory, MiB",
        ],
        target: None,
    },
    Size {
        mib: 1024,
        names: [
            "C5 snapshot of 1 GiB, over curl",
            "   s",
            "   most memory, MiB",
        ],
        target: Some(MOST_MIB),
    },
];

/// One cluster, whose etcd grows.
pub async fn measure(control: &Path, runs: usize) -> Result<Vec<Row>> {
    let cluster = Cluster::start(1)?;
    let member = cluster.members().first().context("no member")?;
    let etcd = member.etcd().await?;
    let control = control.to_str().context("a path that is no text")?;
    let (mut rows, mut have) = (Vec::new(), 0);
    for size in &SIZES {
        eprintln!("C5: etcd grows to {} MiB", size.mib);
        fill(&etcd, have..size.mib).await?;
        have = size.mib;
        let (mut saved, mut floor) = (Vec::new(), Vec::new());
        for run in 1..=runs {
            eprintln!("C5: run {run} of {runs}");
            saved.push(save(member, control).await?);
            floor.push(stream(member).await?);
        }
        rows.extend(size.rows(&saved, &floor));
    }
    Ok(rows)
}

/// Puts values under these numbers. Both are base64 already: digits, and zeros.
async fn fill(etcd: &Etcd, numbers: std::ops::Range<usize>) -> Result<()> {
    let value = "A".repeat(VALUE / 3 * 4);
    for number in numbers {
        let pair = json!({ "key": format!("{number:08}"), "value": value });
        etcd.call("kv/put", &pair).await?;
    }
    Ok(())
}

async fn save(member: &Member, control: &str) -> Result<Took> {
    let words = [
        control,
        "save",
        "--upgrade",
        "bench",
        "--keep",
        "1",
        "--json",
    ];
    let took = measured::run(measured::command(member, &words)?, &[0]).await?;
    eprintln!("save: {took:?}");
    Ok(took)
}

/// The stream as etcd's gateway sends it, written and flushed, and nothing verified.
async fn stream(member: &Member) -> Result<Took> {
    let script = format!(
        "cd /etc/kubernetes/pki/etcd && curl -sS --fail --cacert ca.crt \
         --cert healthcheck-client.crt --key healthcheck-client.key -d '{{}}' -o {STREAM} \
         https://127.0.0.1:2379/v3/maintenance/snapshot && sync {STREAM}"
    );
    let took = measured::run(measured::command(member, &["sh", "-c", &script])?, &[0]).await?;
    eprintln!("curl: {took:?}");
    member.run("rm", &[STREAM])?;
    Ok(took)
}

impl Size {
    fn rows(&self, saved: &[Took], floor: &[Took]) -> Vec<Row> {
        let all =
            |took: &[Took], value: fn(&Took) -> f64| took.iter().map(value).collect::<Vec<_>>();
        let seconds = median(&all(floor, |took| took.seconds));
        let memory = median(&all(floor, |took| took.peak_mib));
        let ratios = saved.iter().zip(floor);
        let ratios = ratios.map(|(saved, floor)| saved.seconds / floor.seconds);
        let row = |name, runs, floor, target| Row {
            name,
            runs,
            floor,
            target,
        };
        let [ratio, clock, peak] = self.names;
        let curl = format!("curl, not verified: {seconds:.2} s");
        vec![
            row(ratio, ratios.collect(), curl.clone(), None),
            row(clock, all(saved, |took| took.seconds), curl, None),
            row(
                peak,
                all(saved, |took| took.peak_mib),
                format!("curl: {memory:.1} MiB"),
                self.target,
            ),
        ]
    }
}

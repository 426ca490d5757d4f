//! C7: a survey of three members, beside its questions by curl.

use std::path::Path;

use anyhow::{Context, Result};
use careen_tests::measured::median;
use careen_tests::requests::Requests;
use careen_tests::row::Row;
use native::{Cluster, Member, until};

use crate::measured::{self, Took};

/// Each run asks so often.
const SURVEYS: usize = 10;

/// The user of admin.conf.
const ADMINISTRATOR: &str = "kubernetes-admin";

/// The questions of a survey, one after the other: one connection to the API server, and one to
/// each member of etcd.
const BY_HAND: &str = r#"
cd /run/bench
api="curl -sS --fail -o /dev/null --cacert ca.crt --cert admin.crt --key admin.key"
all=https://api.test:6443/api/v1
pods="$all/namespaces/kube-system/pods?labelSelector=tier%3Dcontrol-plane"
$api $all/namespaces/kube-system/configmaps/kubeadm-config \
  -o /dev/null $all/nodes/cp-1 \
  -o /dev/null "$pods&fieldSelector=spec.nodeName%3Dcp-1" \
  -o /dev/null "$pods&fieldSelector=spec.nodeName%3Dcp-2" \
  -o /dev/null "$pods&fieldSelector=spec.nodeName%3Dcp-3" \
  -o /dev/null "$all/nodes?labelSelector=node-role.kubernetes.io%2Fcontrol-plane" \
  -o /dev/null "$all/nodes?limit=100" \
  -o /dev/null https://api.test:6443/apis/coordination.k8s.io/v1/namespaces/kube-system/leases
cd /etc/kubernetes/pki/etcd
etcd="curl -sS --fail -o /dev/null --cacert ca.crt --cert healthcheck-client.crt"
etcd="$etcd --key healthcheck-client.key"
$etcd -d '{"action":"GET"}' https://cp-1:2379/v3/maintenance/alarm
$etcd -d '{}' https://cp-1:2379/v3/cluster/member/list
for member in cp-1 cp-2 cp-3; do
  $etcd -d '{}' https://$member:2379/v3/maintenance/status
done
"#;

/// The credential of admin.conf, in files.
const PREPARE: &str = r#"
mkdir -p /run/bench && cd /run/bench && cp /etc/kubernetes/pki/ca.crt .
part() { sed -n "s/^ *$1: //p" /etc/kubernetes/admin.conf | base64 -d; }
part client-certificate-data >admin.crt && part client-key-data >admin.key
"#;

/// One cluster.
pub async fn measure(control: &Path, runs: usize) -> Result<Vec<Row>> {
    let cluster = Cluster::start(3)?;
    let member = cluster.members().first().context("no member")?;
    let control = control.to_str().context("a path that is no text")?;
    member.run("sh", &["-c", PREPARE])?;
    let client = member.client().await?;
    let requests = Requests::of_user(&client, "bench-survey", ADMINISTRATOR).await?;
    until("the count", async || {
        requests.so_far().await.is_ok_and(|count| count > 0)
    })
    .await;
    let (mut surveys, mut floors, mut counts, mut calls) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for run in 1..=runs {
        eprintln!("C7: run {run} of {runs}");
        let before = (requests.so_far().await?, etcd_calls(&cluster)?);
        surveys.push(many(member, &[control, "survey", "--json"]).await?);
        let after = (requests.so_far().await?, etcd_calls(&cluster)?);
        // The question for the count is one, too.
        counts.push((after.0 - before.0 - 1) as f64 / SURVEYS as f64);
        calls.push((after.1 - before.1) / SURVEYS as f64);
        floors.push(many(member, &["sh", "-ec", BY_HAND]).await?);
    }
    Ok(rows(&surveys, &floors, counts, calls))
}

/// The median time, in milliseconds, of some runs.
async fn many(member: &Member, words: &[&str]) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..SURVEYS {
        // What a survey finds is in its exit code.
        let took: Took = measured::run(measured::command(member, words)?, &[0, 3, 4]).await?;
        times.push(took.seconds * 1000.0);
    }
    Ok(median(&times))
}

/// The calls that all members of etcd had of the kinds that only a survey makes.
fn etcd_calls(cluster: &Cluster) -> Result<f64> {
    let mut calls = 0.0;
    for member in cluster.members() {
        let text = member.run("curl", &["-sS", "--fail", "http://127.0.0.1:2381/metrics"])?;
        let lines = text.lines().filter(|line| {
            let kinds = ["\"MemberList\"", "\"Alarm\"", "\"Status\""];
            line.starts_with("grpc_server_started_total")
                && kinds.iter().any(|kind| line.contains(kind))
        });
        for line in lines {
            let value = line.rsplit(' ').next().context("no value")?;
            calls += value.parse::<f64>()?;
        }
    }
    Ok(calls)
}

fn rows(surveys: &[f64], floors: &[f64], counts: Vec<f64>, calls: Vec<f64>) -> Vec<Row> {
    let ratios = surveys.iter().zip(floors).map(|(one, floor)| one / floor);
    let curl = format!("its questions by curl: {:.0} ms", median(floors));
    let row = |name, runs, floor: &str| Row {
        name,
        runs,
        floor: floor.to_owned(),
        target: None,
    };
    vec![
        row(
            "C7 survey of three members, over curl",
            ratios.collect(),
            &curl,
        ),
        row("   ms", surveys.to_vec(), &curl),
        row(
            "   requests to the API server",
            counts,
            "8: one for each kind of object, and for the pods of each node",
        ),
        row(
            "   calls to etcd",
            calls,
            "5: members, alarms, a status of each",
        ),
    ]
}

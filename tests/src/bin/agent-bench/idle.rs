//! P5: the program as images ship it, while it watches its Node.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use careen_tests::measured::{cpu_milliseconds, kib};
use careen_tests::node::TestNode;
use careen_tests::requests::Requests;
use careen_tests::root;
use careen_tests::row::{NO_FLOOR, Row};

use super::RUNS;

/// The time after which an agent is idle.
const SETTLE: Duration = Duration::from_secs(5);

/// The observation time. It is longer than a watch (290 s), so that each agent renews its watch
/// once.
const IDLE: Duration = Duration::from_secs(300);

/// The memory of one agent at a time, then the cost of five idle agents together.
pub async fn measure(program: &Path) -> Result<Vec<Row>> {
    let mut pss = Vec::new();
    for run in 1..=RUNS {
        eprintln!("P5: memory, run {run} of {RUNS}");
        pss.push(memory(program).await?);
    }
    eprintln!("P5: {RUNS} agents idle for {} s", IDLE.as_secs());
    let mut agents = Vec::new();
    for _ in 0..RUNS {
        agents.push(Idle::start(program).await?);
    }
    tokio::time::sleep(SETTLE).await;
    let before = costs(&agents).await?;
    tokio::time::sleep(IDLE).await;
    let after = costs(&agents).await?;
    let grown = |of: fn(&Cost) -> f64| -> Vec<f64> {
        let both = after.iter().zip(&before);
        both.map(|(after, before)| of(after) - of(before)).collect()
    };
    let anonymous = after.iter().map(|cost| cost.anonymous).collect();
    let cpu = grown(|cost| cost.cpu);
    let millicores = cpu
        .iter()
        .map(|milliseconds| milliseconds / IDLE.as_secs_f64());
    let row = |name, runs, floor: &str, target| Row {
        name,
        runs,
        floor: floor.to_owned(),
        target,
    };
    Ok(vec![
        row("P5 idle agent, PSS, KiB", pss, NO_FLOOR, Some(8192.0)),
        row(
            "   of it its own after 300 s, KiB",
            anonymous,
            NO_FLOOR,
            None,
        ),
        row(
            "   processor, thousandths",
            millicores.collect(),
            NO_FLOOR,
            Some(1.0),
        ),
        row(
            "   requests in 300 s",
            grown(|cost| cost.requests),
            "1: a watch lasts 290 s",
            None,
        ),
        row(
            "   bytes sent in 300 s",
            grown(|cost| cost.sent),
            "that one request",
            None,
        ),
    ])
}

/// An agent on its own Node. A drop kills it.
struct Idle {
    node: TestNode,
    requests: Requests,
    process: Child,
}

impl Drop for Idle {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Idle {
    async fn start(program: &Path) -> Result<Self> {
        let node = TestNode::new("bench-idle").await?;
        let requests = Requests::of(&node).await?;
        let root = root::lay_out(node.folder.path())?;
        let mut command = Command::new(program);
        command.arg("--root").arg(&root);
        command.arg("--kubeconfig").arg(&node.kubeconfig);
        command.arg("--policy").arg(root.join("policy.toml"));
        let process = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("{} does not start", program.display()))?;
        Ok(Self {
            node,
            requests,
            process,
        })
    }
}

/// Measures one agent alone, because several agents would share pages and split their cost.
async fn memory(program: &Path) -> Result<f64> {
    let agent = Idle::start(program).await?;
    tokio::time::sleep(SETTLE).await;
    kib(agent.process.id(), "Pss:")
}

/// The cost of an agent since its start.
struct Cost {
    /// Milliseconds.
    cpu: f64,
    /// Bytes.
    sent: f64,
    requests: f64,
    /// Its current private memory, in KiB.
    anonymous: f64,
}

async fn costs(agents: &[Idle]) -> Result<Vec<Cost>> {
    let mut costs = Vec::new();
    for agent in agents {
        let pid = agent.process.id();
        costs.push(Cost {
            cpu: cpu_milliseconds(pid)?,
            sent: agent.node.wire.sent() as f64,
            requests: agent.requests.so_far().await? as f64,
            anonymous: kib(pid, "Pss_Anon:")?,
        });
    }
    Ok(costs)
}

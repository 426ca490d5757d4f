//! A cluster with what is measured of it all the time: its writes, its API servers, its elections.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result};
use native::{Cluster, Counter, Etcd};

use crate::outages::Outages;

/// The cluster and its meters.
pub struct Scene {
    /// The cluster.
    pub cluster: Arc<Cluster>,
    etcds: Vec<Etcd>,
    counter: Counter,
    balancer: Outages,
    own: Vec<Outages>,
}

/// What one turn of one member took.
#[derive(Debug)]
pub struct Turn {
    /// From the request until the answer.
    pub seconds: f64,
    /// How long the member's own API server did not answer.
    pub own: f64,
    /// How long the load balancer had no answer.
    pub balancer: f64,
    /// The longest time without a confirmed write.
    pub gap: f64,
    /// How often etcd elected a leader. A leadership that was handed over is none.
    pub elections: f64,
    /// Whether the member led etcd at the beginning.
    pub led: bool,
}

/// A moment before a turn.
#[derive(Debug)]
pub struct Mark {
    begun: Instant,
    term: u64,
    handed_over: usize,
    led: bool,
}

impl Scene {
    /// Begins to measure a cluster.
    pub async fn of(cluster: Arc<Cluster>) -> Result<Self> {
        let client = cluster.client().await?;
        let (mut etcds, mut own) = (Vec::new(), Vec::new());
        for member in cluster.members() {
            etcds.push(member.etcd().await?);
            own.push(Outages::of(member.client().await?));
        }
        Ok(Self {
            etcds,
            own,
            balancer: Outages::of(client.clone()),
            counter: Counter::start(client),
            cluster,
        })
    }

    /// The moment before a member's turn.
    pub async fn mark(&self, number: usize) -> Result<Mark> {
        let etcd = self.etcds.get(number).context("no such member")?;
        let status = etcd.status().await?;
        Ok(Mark {
            begun: Instant::now(),
            term: self.term().await?,
            handed_over: self.handed_over()?,
            led: status["leader"] == status["header"]["member_id"],
        })
    }

    /// What the turn took that began there.
    pub async fn turn(&self, number: usize, mark: Mark) -> Result<Turn> {
        let end = Instant::now();
        let own = self.own.get(number).context("no such member")?;
        let terms = self.term().await?.saturating_sub(mark.term);
        // A member that etcd asks to lead begins the next term, too.
        let handed_over = self.handed_over()?.saturating_sub(mark.handed_over);
        Ok(Turn {
            seconds: (end - mark.begun).as_secs_f64(),
            own: own.seconds(mark.begun, end),
            balancer: self.balancer.seconds(mark.begun, end),
            gap: self.counter.longest_gap(mark.begun, end).as_secs_f64(),
            elections: terms as f64 - handed_over as f64,
            led: mark.led,
        })
    }

    /// Ends the counter. No write may be lost.
    pub async fn end(self) -> Result<()> {
        let (written, gap) = self.counter.end().await?;
        eprintln!("{written} writes, none is lost; the longest gap took {gap:?}");
        Ok(())
    }

    /// The newest term that a member knows.
    async fn term(&self) -> Result<u64> {
        let mut newest = None;
        for etcd in &self.etcds {
            let status = etcd.status().await?;
            let term = status["header"]["raft_term"].as_str();
            let term = term.context("a status without a term")?.parse()?;
            newest = newest.max(Some(term));
        }
        newest.context("no member")
    }

    /// How often a member was asked to lead, by their logs (raft's MsgTimeoutNow).
    fn handed_over(&self) -> Result<usize> {
        let members = self.cluster.members().iter();
        let all = members.map(|member| {
            let log = member.read("/var/log/stand-in-kubelet/etcd.log")?;
            Ok(log.matches("received MsgTimeoutNow").count())
        });
        all.sum()
    }
}

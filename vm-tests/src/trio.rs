//! Three machines with one control plane: far pods on each, and one etcd of three members. They are
//! upgraded one after the other by annotation, from v1.35 to v1.36, while a number is written
//! through the load balancer. The first one loses its power while kubeadm raises it, and another
//! member loses its power in the trial of the second.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use rig::balancer::Balancer;
use rig::control_plane::{Components, SERVES};
use rig::counter::Counter;
use rig::images::{self, DiskKind, ensure_commit};
use rig::joined::Joined;
use rig::progress::Progress;
use rig::{Rig, far, lan, lanes};
use serde_json::Value;
use testkit::programs::out;
use tokio::time::sleep;
use upgrade::control_plane::{LOCK, LOCK_NAMESPACE};
use upgrade::report::Answer;

const MEMBERS: u8 = 3;

const API_SERVER: u16 = 6443;

const IMAGE: &str = "v2";

/// An upgrade with a raise, where each program of three guests is emulated by turns.
const RAISED: Duration = Duration::from_secs(7200);

/// How long the other member stays away in a trial. An API server says only after 7 s that its
/// etcd has no quorum, and the agent surveys again after 30 s.
const AWAY: Duration = Duration::from_secs(90);

const MINUTE: Duration = Duration::from_secs(60);

/// How far to go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Until {
    /// All three serve.
    Up,
    /// The first one is upgraded, with a power cut while kubeadm raises it.
    First,
    /// The second one is upgraded, with another member that dies in its trial.
    Second,
    /// All are upgraded.
    End,
}

/// Builds what is needed, and runs it in a lane of its own.
///
/// # Errors
///
/// Fails when a part does not start, an upgrade fails, or a write is lost.
pub async fn run(until: Until) -> Result<()> {
    ensure_commit(IMAGE)?;
    far::prepare()?;
    Joined::prepare(DiskKind::Bios).await?;
    let programs = images::programs()?;
    let until = until.to_possible_value().context("no such end")?;
    let words = ["trio-for-a-lane", until.get_name()];
    lanes::in_a_lane(&words, &programs).await
}

/// Runs it in this lane, and prints `null`.
///
/// # Errors
///
/// As [`run`].
pub async fn run_for_a_lane(until: Until) -> Result<()> {
    let mut trio = Trio::new().await?;
    let story = trio.story(until).await;
    if story.is_err() {
        for rig in &mut trio.members {
            let folder = rig.keep_evidence().await;
            eprintln!("{}: see {}", rig.name(), folder.display());
        }
    }
    story?;
    println!("null");
    Ok(())
}

/// The machines.
struct Trio {
    members: Vec<Rig>,
    progress: Progress,
    _balancer: Balancer,
}

impl Trio {
    /// The network alone.
    async fn new() -> Result<Self> {
        lan::make(MEMBERS)?;
        let servers = (1..=MEMBERS).map(|number| (lan::address(number), API_SERVER).into());
        let at = SocketAddr::from((lan::RIG, API_SERVER));
        Ok(Self {
            members: Vec::new(),
            progress: Progress::new("trio"),
            _balancer: Balancer::start(at, servers.collect()).await?,
        })
    }

    /// One member after the other: the frozen nodes of a lane have one port.
    async fn come_up(&mut self) -> Result<()> {
        for number in 1..=MEMBERS {
            let name = lan::name(number);
            let folder = out().join("trio").join(&name);
            let rig = Rig::start(DiskKind::Bios, &folder, Progress::new(&name)).await?;
            self.members.push(rig);
            let rig = self.member(number)?;
            rig.become_member(number).await?;
            rig.wait_control_plane(&Components::new()).await?;
        }
        self.progress.step("all members serve");
        Ok(())
    }

    async fn story(&mut self, until: Until) -> Result<()> {
        self.come_up().await?;
        let first = self.member(1)?;
        let counter = Counter::start(first.plane.client().await?);
        self.expect_well("v1.35", &counter).await?;
        if until >= Until::First {
            self.first().await?;
            self.expect_counted(&counter).await?;
        }
        if until >= Until::Second {
            self.second().await?;
            self.expect_counted(&counter).await?;
        }
        if until >= Until::End {
            self.ask(3).await?;
            self.upgraded(3).await?;
            self.expect_well("v1.36", &counter).await?;
        }
        Ok(())
    }

    /// The first member, whose power is cut while its record says that it is raised.
    async fn first(&mut self) -> Result<()> {
        self.ask(1).await?;
        let rig = self.member(1)?;
        rig.wait_guest(RAISING).await?;
        rig.cut_power()?;
        rig.power_on().await?;
        rig.wait_boot(None).await?;
        self.upgraded(1).await
    }

    /// The second member. In its trial the third one dies, so that etcd has no quorum.
    async fn second(&mut self) -> Result<()> {
        self.ask(2).await?;
        let rig = self.member(2)?;
        rig.wait_armed().await?;
        rig.wait_trial().await?;
        let other = self.member(3)?;
        other.cut_power()?;
        sleep(AWAY).await;
        other.power_on().await?;
        other.wait_boot(None).await?;
        self.upgraded(2).await
    }

    async fn ask(&mut self, number: u8) -> Result<()> {
        let rig = self.member(number)?;
        let image = rig.image(IMAGE)?;
        rig.ask(&image).await
    }

    /// Waits for `Upgraded`, and until the member serves.
    async fn upgraded(&mut self, number: u8) -> Result<()> {
        let rig = self.member(number)?;
        rig.wait_answer(Answer::Upgraded, RAISED).await?;
        rig.wait_control_plane(&Components::new()).await.map(drop)
    }

    /// All members are well at this minor, nobody holds the lock, and no write is lost.
    async fn expect_well(&mut self, minor: &str, counter: &Counter) -> Result<()> {
        let rig = self.member(1)?;
        let control = rig.careen_control().await?;
        let survey = format!("{control} survey --json 2>/dev/null");
        let found = rig.guest.try_run(&survey, 10 * MINUTE).await?.text;
        let found: Value = serde_json::from_str(&found).with_context(|| found.clone())?;
        self.progress.step(&format!("survey: {found}"));
        expect_members(&found["survey"], minor)?;
        let leases: Api<Lease> =
            Api::namespaced(self.member(1)?.plane.client().await?, LOCK_NAMESPACE);
        let lease = leases.get_opt(LOCK).await?;
        ensure!(lease.is_none(), "the control plane is locked: {lease:?}");
        self.expect_counted(counter).await
    }

    /// No number that an API server has taken is lost.
    async fn expect_counted(&mut self, counter: &Counter) -> Result<()> {
        let client = self.member(1)?.plane.client().await?;
        let counted = async {
            loop {
                match counter.expect_nothing_lost(client.clone()).await {
                    Ok(gap) => return Ok(gap),
                    // The way to the API may be a member that has just gone.
                    Err(error) if !error.is::<kube::Error>() => return Err(error),
                    Err(_) => sleep(Duration::from_secs(2)).await,
                }
            }
        };
        let gap = tokio::time::timeout(SERVES, counted).await??;
        let (number, seconds) = (counter.taken(), gap.as_secs());
        let text = format!("counted to {number}; the longest gap was {seconds} s");
        self.progress.step(&text);
        Ok(())
    }

    fn member(&mut self, number: u8) -> Result<&mut Rig> {
        let at = usize::from(number).checked_sub(1);
        let member = at.and_then(|at| self.members.get_mut(at));
        member.context("no such member")
    }
}

/// Ends when the record says that a raise is under way and kubeadm has swapped a manifest.
const RAISING: &str = "until grep -q v1.36 /etc/kubernetes/manifests/*.yaml; do sleep 0.2; done";

/// Three healthy members, and a cluster of this minor.
fn expect_members(survey: &Value, minor: &str) -> Result<()> {
    let members = survey["members"].as_array().context("no members")?;
    let well = members.iter().filter(|member| member["sick"].is_null());
    let (all, well) = (members.len(), well.count());
    ensure!(
        all == usize::from(MEMBERS) && well == all,
        "{well} of {all} are well: {survey:#}"
    );
    let version = survey["versions"]["cluster"].as_str().unwrap_or_default();
    ensure!(version.starts_with(minor), "the cluster is at {version:?}");
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn three_members_must_be_well_at_the_minor() {
        let survey = |sick: Value| {
            json!({ "versions": { "cluster": "v1.36.3" },
                "members": [{}, {}, { "sick": sick }] })
        };
        assert!(expect_members(&survey(Value::Null), "v1.36").is_ok());
        assert!(expect_members(&survey(Value::Null), "v1.35").is_err());
        assert!(expect_members(&survey(json!("noLeader")), "v1.36").is_err());
        assert!(expect_members(&json!({ "members": [] }), "v1.36").is_err());
    }
}

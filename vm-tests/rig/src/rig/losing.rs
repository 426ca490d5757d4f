//! A power cut on a drive with a cache. What no flush had made durable may be intact, lost, or
//! torn.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use tokio::time::Instant;
use upgrade::names;

use super::Rig;
use super::story::UPGRADE;
use crate::fate::{self, Fate};
use crate::overlay::save_base;
use crate::writes::{Log, Request};

/// The most requests that were on their way into the log when QEMU was killed. The log may hold
/// parts of them.
const ON_THE_WAY: usize = 8;

/// The time limit of one look into the guest. A guest that reboots does not answer. The script
/// itself stops after this many looks, long before the limit: nobody would read what it finds
/// later.
const LOOK: Duration = Duration::from_secs(60);
const LOOKS: u32 = 25;

impl Rig {
    /// Cuts the power and drops what `fate` takes of the writes since the last flush. `seed`
    /// selects what is torn. The machine must have logged its writes since it started, and
    /// continues to log them.
    ///
    /// # Errors
    ///
    /// Fails when the power is off already, or the writes are not logged.
    pub fn lose_power(&mut self, fate: Fate, seed: u64) -> Result<()> {
        let writes = self.machine.writes().map(ToOwned::to_owned);
        let writes = writes.context("this machine's writes are in no log")?;
        self.cut_power()?;
        let disk = self.dir.join("machine/disk.raw");
        if !disk.exists() {
            save_base(&self.machine.disk(), &disk)?;
        }
        let mut log = Log::open(&writes)?;
        log.read_on()?;
        let after = whole(&log.requests);
        fate::write(&log, after, fate, seed, &disk)?;
        self.progress.step(&format!(
            "what was not flushed: {fate:?}, seed {seed}, {after} requests"
        ));
        self.machine = self.machine.with_disk(&disk)?.logging_writes(&writes)?;
        Ok(())
    }

    /// Like [`Rig::lose_power`], with a random seed that it prints; then powers the node on. Does
    /// not wait for the boot.
    ///
    /// # Errors
    ///
    /// Fails when the power is off already, the writes are not logged, or QEMU does not start.
    pub async fn lose_power_for_a_moment(&mut self, fate: Fate) -> Result<()> {
        self.lose_power(fate, fastrand::u64(..))?;
        self.power_on().await
    }

    /// Waits until the record's JSON matches this regular expression (`grep -E`), in any boot.
    ///
    /// # Errors
    ///
    /// Fails when it does not match within the time of an upgrade.
    pub async fn wait_record_in_any_boot(&mut self, piece: &str) -> Result<()> {
        let folder = format!("/sysroot/{}", names::STATE_DIR);
        let says = format!("grep -qsE '{piece}' {folder}/record.a {folder}/record.b");
        let look = format!(
            "n=0; until {says}; do n=$((n + 1)); [ $n -lt {LOOKS} ] || exit 1; sleep 0.05; done"
        );
        let deadline = Instant::now() + UPGRADE;
        while !matches!(self.guest.try_run(&look, LOOK).await, Ok(output) if output.code == 0) {
            ensure!(
                Instant::now() < deadline,
                "the record did not say {piece} within {UPGRADE:?}"
            );
        }
        self.progress.step(&format!("the record says {piece}"));
        Ok(())
    }

    /// Waits for a boot of the trial. Any number of boots of the old system may come first.
    ///
    /// # Errors
    ///
    /// Fails when a boot does not come up in time.
    pub async fn wait_trial(&mut self) -> Result<()> {
        let mut last = None;
        loop {
            last = Some(self.wait_boot(last.as_deref()).await?);
            let words = self.guest.run("cat /proc/cmdline").await?;
            if words.contains(names::TRIAL_ARGUMENT) {
                return Ok(());
            }
        }
    }

    /// Succeeds while the machine and the API server run. Then any other failure is the node's.
    ///
    /// # Errors
    ///
    /// Fails when one of them does not run.
    pub async fn check(&mut self) -> Result<()> {
        if let Some(power) = &mut self.power {
            power.check()?;
        }
        let client = self.plane.client().await?;
        client.apiserver_version().await?;
        Ok(())
    }
}

/// The number of requests without the last ones, which may be incomplete. QEMU answers a flush only
/// when all requests before it are complete.
fn whole(requests: &[Request]) -> usize {
    let flushed = requests
        .iter()
        .rposition(|request| *request == Request::Flush);
    let safe = flushed.map_or(0, |at| at + 1);
    requests.len().saturating_sub(ON_THE_WAY).max(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flushed_requests_are_whole_and_later_ones_may_be_partial() {
        let write = Request::Write {
            disk: 0,
            log: 0,
            length: 512,
        };
        let after = |behind: usize| {
            let mut requests = vec![write, Request::Flush];
            requests.extend(vec![write; behind]);
            whole(&requests)
        };
        assert_eq!(after(0), 2);
        assert_eq!(after(5), 2);
        assert_eq!(after(20), 2 + 20 - ON_THE_WAY);
    }
}

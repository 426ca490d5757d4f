//! A machine whose clock becomes wrong when the trial is armed, and is corrected after both systems
//! ran with it.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, ensure};
use rig::Rig;

/// Much more than a clock correction, and than the time by which certificates are backdated.
const MONTH: u64 = 30 * 24 * 3600;

/// The direction of the error. No certificate of the cluster is valid then.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wrong {
    /// In 2040, when every certificate has expired.
    Ahead,
    /// In 1970, as with an empty battery, when no certificate is valid yet. systemd advances such a
    /// clock to its own build date.
    Behind,
}

impl Wrong {
    /// The kernel rejects a time before its own boot.
    const fn date(self) -> &'static str {
        match self {
            Self::Ahead => "2040-01-01",
            Self::Behind => "1970-01-02",
        }
    }

    /// Whether a clock is wrong in this way. Both times are in seconds since 1970.
    const fn is_so(self, clock: u64, now: u64) -> bool {
        match self {
            Self::Ahead => clock > now + MONTH,
            Self::Behind => clock + MONTH < now,
        }
    }
}

/// Requests an upgrade and sets the clock to 2040 between the arming and the trial, and to 1970
/// when the old system is back. It also sets the hardware clock, so that the next boots begin with
/// it. The trial and the old system after it see the API server as away. The next trial waits until
/// the time is right, and then the upgrade succeeds.
///
/// # Errors
///
/// Fails when any of these checks fails.
pub async fn wrong_over_a_trial(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let before = rig.before().await?;
    // A minute of it passes before the kubelet starts: kubeadm waits that long for an API server
    // that is away.
    rig.policy("[health]\ndeadline-seconds = 240\napi-away-hold-seconds = 20")
        .await?;
    rig.ask(&image).await?;
    let date = Wrong::Ahead.date();
    rig.wait_guest(&format!(
        "until grep -qa '^next_entry=.' /boot/grub/grubenv; do sleep 0.05; done; {}",
        set(date)
    ))
    .await?;
    rig.progress.step(&format!("armed, and it is {date}"));
    let trial = rig.wait_boot(Some(&before.boot)).await?;
    expect_wrong(rig, Wrong::Ahead).await?;
    rig.wait_boot(Some(&trial)).await?;
    ensure!(
        rig.booted().await? == before.commit,
        "the trial did not give way to the old system"
    );
    rig.wait_uptime(90).await?;
    expect_nothing_judged(rig, Wrong::Ahead).await?;
    rig.guest.run(&set(Wrong::Behind.date())).await?;
    // Longer than the agent takes to look again.
    rig.wait_guest("sleep 45").await?;
    expect_nothing_judged(rig, Wrong::Behind).await?;
    rig.guest.run(&set(&format!("@{}", now()?))).await?;
    rig.progress.step("it is now again");
    rig.expect_upgraded(&before, &image).await?;
    Ok(())
}

/// The clock is wrong, and the only trial was neither judged nor repeated.
async fn expect_nothing_judged(rig: &mut Rig, wrong: Wrong) -> Result<()> {
    expect_wrong(rig, wrong).await?;
    let view = rig.node.now();
    ensure!(
        rig.trials() == 1 && view.answer.as_deref() == Some("InProgress"),
        "it was tried again or judged though the API server is still away: {view:#?}"
    );
    Ok(())
}

fn set(date: &str) -> String {
    format!("date -s {date} >/dev/null && busybox hwclock -w -u")
}

async fn expect_wrong(rig: &mut Rig, wrong: Wrong) -> Result<()> {
    let clock = rig.guest.run("date +%s").await?.parse()?;
    ensure!(
        wrong.is_so(clock, now()?),
        "the clock is not in {}, but at {clock} s",
        wrong.date()
    );
    Ok(())
}

fn now() -> Result<u64> {
    Ok(SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_wrong_in_one_way_only_and_not_by_a_day() {
        let now = 1000 * MONTH;
        let day = MONTH / 30;
        assert!(Wrong::Ahead.is_so(now + 2 * MONTH, now));
        assert!(!Wrong::Behind.is_so(now + 2 * MONTH, now));
        assert!(Wrong::Behind.is_so(day, now));
        assert!(!Wrong::Ahead.is_so(day, now));
        for wrong in [Wrong::Ahead, Wrong::Behind] {
            assert!(!wrong.is_so(now - day, now) && !wrong.is_so(now + day, now));
        }
    }
}

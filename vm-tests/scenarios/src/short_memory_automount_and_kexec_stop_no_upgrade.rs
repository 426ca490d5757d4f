//! On one node, three things that an upgrade must survive:
//! - /boot is an automount that is unmounted after two seconds without use.
//! - A kernel is loaded for kexec, so that `systemctl reboot` boots the old system and skips the boot
//!   loader. The agent's reboot still goes through GRUB, whose one-shot is the trial.
//! - Nearly all memory is in use while the node fetches, verifies, deploys and drains. The agent
//!   stays small, and the OOM killer kills neither the agent nor careen-deploy.

use std::collections::BTreeSet;

use anyhow::Context;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "short-memory-automount-and-kexec-stop-no-upgrade",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The memory left of the guest's 2 GiB, in MiB, and what the rest of the system may release on top
/// of it during the upgrade.
const LEFT: u64 = 256;
const GIVEN_BACK: u64 = 128;

/// Takes all available memory except for this amount. tail holds the whole last line, and a stream
/// of zeros is one line. Without swap it must stay in memory. The OOM killer would kill it first:
/// then the available memory jumps, and the scenario reports it.
const TAKE: &str = r#"
[ "$(wc -l </proc/swaps)" = 1 ] || { echo 'there is swap'; exit 1; }
available() { awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo; }
size=$(($(available) - LEFT))
systemd-run --quiet --unit=hog --property=OOMScoreAdjust=1000 sh -c "(head -c ${size}M /dev/zero; sleep infinity) | tail"
until [ "$(available)" -le $((LEFT + GIVEN_BACK)) ]; do sleep 0.2; done
echo $size"#;

/// Notes twice a second, until the node is armed, the available memory and the state of each of our
/// programs: its peak, its hard limit, and its number of OOM kills. The notes are on /var, where
/// the new system finds them.
const WATCH: &str = r#"systemd-run --quiet --expand-environment=no --unit=look bash -c '
until grep -qsF "\"name\": \"Armed\"" /sysroot/STATE_DIR/record.a /sysroot/STATE_DIR/record.b; do
  for group in /sys/fs/cgroup/system.slice/careen-agent.service /sys/fs/cgroup/system.slice/careen-deploy-*.service; do
    [ -e $group/memory.peak ] || continue
    peak=$(<$group/memory.peak) limit=$(<$group/memory.max) killed=$(grep ^oom_kill\  $group/memory.events)
    echo ${group##*/} $peak $limit ${killed#* }
  done
  echo available $(grep ^MemAvailable: /proc/meminfo)
  sleep 0.5
done 2>/dev/null >/var/lib/careen-rig/memory'"#;

/// The kernel's last message about an OOM kill of one of our programs, in any boot.
const KILLED: &str = r"journalctl --quiet --output cat _TRANSPORT=kernel | grep -E 'Killed process [0-9]+ \(careen-' || :";

/// Makes /boot an automount from the next boot on.
const AUTOMOUNT: &str = "sed -i 's#^LABEL=boot /boot ext4 defaults#&,x-systemd.automount,x-systemd.idle-timeout=2#' /etc/fstab && grep -q x-systemd.automount /etc/fstab && sync";
const IS_AUTOMOUNT: &str =
    "until findmnt --noheadings --types autofs /boot >/dev/null; do sleep 1; done";

/// Loads the only installed system, from the only menu entry. Its command line shows that it booted
/// by kexec. Debian's kexec-tools have loaded no kernel automatically since 2.0.27, but a person
/// who runs `kexec-load-kernel` gets this state.
const LOAD: &str = r#"
path() { awk -v key="$1" '$1 == key { print "/boot" $2 }' /boot/loader/entries/*.conf; }
kexec --load "$(path linux)" --initrd="$(path initrd)" --append="$(cat /proc/cmdline) rig.kexec" &&
  grep -q 1 /sys/kernel/kexec_loaded"#;
/// What a person types. systemctl asks logind for kexec if a kernel is loaded (systemd's
/// src/shared/logind-util.h).
const REBOOT: &str = "systemctl --no-block reboot";
const ARGUMENTS: &str = "cat /proc/cmdline";
/// Reads whether the kernel is still loaded when only the reboot is left. It looks at the record,
/// because a look at /boot would keep the automount mounted.
const LOADED_WHEN_ARMED: &str = r#"until grep -qsF '"do": "Reboot"' /sysroot/STATE_DIR/record.a /sysroot/STATE_DIR/record.b; do sleep 0.1; done; cat /sys/kernel/kexec_loaded"#;

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let joined = rig.before().await?;
    rig.guest.run(AUTOMOUNT).await?;
    a_person_comes_past_the_loader(rig, &joined).await?;
    rig.wait_guest(IS_AUTOMOUNT).await?;
    let before = rig.before().await?;
    rig.guest.run(LOAD).await?;
    memory_is_taken(rig).await?;
    rig.ask(&image).await?;
    expect_still_loaded(rig).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_it_came_through_the_loader(rig).await?;
    expect_memory_was_enough(rig).await
}

/// Proves that a plain reboot skips the loader. Without this, a trial through GRUB proves nothing.
async fn a_person_comes_past_the_loader(rig: &mut Rig, before: &Before) -> Result<()> {
    rig.guest.run(LOAD).await?;
    rig.guest.run(REBOOT).await?;
    rig.wait_boot(Some(&before.boot)).await?;
    let arguments = rig.guest.run(ARGUMENTS).await?;
    ensure!(
        arguments.contains("rig.kexec"),
        "`systemctl reboot` did not boot what was loaded: {arguments}"
    );
    rig.expect_old_system(before).await
}

async fn memory_is_taken(rig: &mut Rig) -> Result<()> {
    let take = TAKE
        .replace("GIVEN_BACK", &GIVEN_BACK.to_string())
        .replace("LEFT", &LEFT.to_string());
    let taken = rig.guest.run_within(&take, 5 * MINUTE).await?;
    rig.progress.step(&format!("{taken} MiB are taken"));
    let watch = WATCH.replace("STATE_DIR", names::STATE_DIR);
    rig.guest.run(&watch).await.map(drop)
}

async fn expect_still_loaded(rig: &mut Rig) -> Result<()> {
    let look = LOADED_WHEN_ARMED.replace("STATE_DIR", names::STATE_DIR);
    let loaded = rig.guest.run_within(&look, UPGRADE).await?;
    ensure!(
        loaded == "1",
        "no kernel was loaded any more when it was armed: {loaded:?}"
    );
    Ok(())
}

async fn expect_it_came_through_the_loader(rig: &mut Rig) -> Result<()> {
    let arguments = rig.guest.run(ARGUMENTS).await?;
    ensure!(
        arguments.contains(names::TRIAL_ARGUMENT) && !arguments.contains("rig.kexec"),
        "it did not come through GRUB: {arguments}"
    );
    Ok(())
}

async fn expect_memory_was_enough(rig: &mut Rig) -> Result<()> {
    let notes = rig.guest.run("cat /var/lib/careen-rig/memory").await?;
    let notes = Notes::read(&notes)?;
    rig.progress.step(&notes.told());
    notes.expect_short()?;
    notes.expect_all_within_their_limits()?;
    let killed = rig.guest.run(KILLED).await?;
    ensure!(killed.is_empty(), "killed for memory: {killed}");
    Ok(())
}

/// The notes about memory.
#[derive(Debug, Default)]
struct Notes {
    /// In MiB, at each look.
    available: Vec<u64>,
    groups: Vec<Group>,
}

/// One of our programs at one look, in bytes.
#[derive(Debug)]
struct Group {
    unit: String,
    peak: u64,
    /// None for a unit whose memory is only throttled: the OOM killer never ends the menu swap.
    limit: Option<u64>,
    killed: u64,
}

impl Notes {
    fn read(text: &str) -> Result<Self> {
        let mut notes = Self::default();
        for line in text.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                ["available", _, kib, _] => notes.available.push(kib.parse::<u64>()? >> 10),
                [unit, peak, limit, killed] => notes.groups.push(Group {
                    unit: unit.to_owned(),
                    peak: peak.parse()?,
                    limit: limit.parse().ok(),
                    killed: killed.parse()?,
                }),
                // A unit that ended in the middle of the look.
                _ => {}
            }
        }
        Ok(notes)
    }

    /// A summary for the log.
    fn told(&self) -> String {
        let (least, most) = (self.available.iter().min(), self.available.iter().max());
        let peak = self
            .of("careen-agent.service")
            .map(|seen| seen.peak >> 20)
            .max();
        format!("{least:?} to {most:?} MiB were available; the agent had {peak:?} at its peak")
    }

    fn of<'a>(&'a self, unit: &'a str) -> impl Iterator<Item = &'a Group> {
        self.groups.iter().filter(move |group| group.unit == unit)
    }

    /// Checks that memory was short at every look.
    fn expect_short(&self) -> Result<()> {
        let most = self.available.iter().max();
        let most = most.context("nobody looked at what is available")?;
        ensure!(
            *most <= LEFT + GIVEN_BACK,
            "memory was not short: {most} MiB were available once; was the hog killed?"
        );
        Ok(())
    }

    /// Checks that the agent and each run of careen-deploy were seen, below their hard limits, and
    /// that none was killed.
    fn expect_all_within_their_limits(&self) -> Result<()> {
        let verbs = ["fetch", "verify", "deploy"];
        let seen: BTreeSet<_> = self.groups.iter().map(|group| &group.unit).collect();
        for verb in verbs {
            ensure!(
                seen.iter()
                    .any(|unit| unit.ends_with(&format!("-{verb}.service"))),
                "no look found careen-deploy at its {verb}, of {seen:?}"
            );
        }
        for group in &self.groups {
            let within = group.limit.is_none_or(|limit| group.peak <= limit);
            ensure!(
                within && group.killed == 0,
                "it did not stay within its limit: {group:?}"
            );
        }
        // The agent uses few files, so its memory is its own, and it is far from its limit.
        let limits = self
            .of("careen-agent.service")
            .map(|group| (group.peak, group.limit));
        for (peak, limit) in limits {
            let limit = limit.context("the agent has no limit of memory")?;
            ensure!(
                peak < limit,
                "the agent had {peak} bytes at its peak, of {limit}"
            );
        }
        ensure!(
            self.of("careen-agent.service").next().is_some(),
            "no look found the agent"
        );
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notes(more: &str) -> Notes {
        let of_all = "available MemAvailable: 204800 kB
careen-agent.service 20971520 536870912 0
careen-deploy-u1-fetch.service 104857600 536870912 0
careen-deploy-u1-verify.service 104857600 536870912 0
careen-deploy-u1-verify.service 104857600
careen-deploy-u1-deploy.service 904857600 max 0";
        Notes::read(&format!("{of_all}\n{more}")).unwrap()
    }

    #[test]
    fn memory_that_was_plenty_at_one_look_was_not_short() {
        notes("").expect_short().unwrap();
        let plenty = notes("available MemAvailable: 1048576 kB");
        let error = plenty.expect_short().unwrap_err().to_string();
        assert!(error.contains("1024 MiB"), "{error}");
        assert!(Notes::default().expect_short().is_err());
    }

    #[test]
    fn one_that_was_killed_or_never_seen_is_told() {
        notes("").expect_all_within_their_limits().unwrap();
        let killed = notes("careen-deploy-u1-fetch.service 536870912 536870912 1");
        assert!(killed.expect_all_within_their_limits().is_err());
        assert!(Notes::default().expect_all_within_their_limits().is_err());
    }
}

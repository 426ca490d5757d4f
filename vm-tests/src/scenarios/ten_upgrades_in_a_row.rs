//! Ten upgrades in a row on one node, to a new image and then to and fro between the two that it keeps: disk, /boot, record, notes, the agent's memory and
//! what it says in the journal stay as large as they were.

use std::fmt;

use anyhow::bail;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "ten-upgrades-in-a-row",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

const UPGRADES: usize = 10;

/// MiB on both file systems, bytes of what is ours, MiB of the journal, bytes of what our units have said in it since the node was installed, and the
/// agent's peak in KiB: a line each. The peak is of this boot, in which it has judged the trial and blessed it: the record that it has read is what could
/// have grown.
const MEASURE: &str = r"sync
df --output=used -B1M /sysroot /boot | awk 'NR > 1 { sum += $1 } END { print sum }'
du --bytes --summarize /sysroot/ostree/careen | cut -f1
du --block-size=1M --summarize /var/log/journal | cut -f1
journalctl --quiet --unit 'careen-*' --output cat | wc --bytes
awk '/^VmHWM:/ { print $2 }' /proc/$(systemctl show --value -p MainPID careen-agent)/status";

/// The record tells of the last ten upgrades, and of no more; the journal grows up to its own bound, and its files by eight MiB at a time.
const MORE: u64 = 64;
const MORE_OF_OURS: u64 = 64 << 10;
/// Bytes that an upgrade may say beyond what the one before the last did: a wait more, or a try that was made again.
const MORE_WORDS: u64 = 64 << 10;
/// KiB: an allocator does not always take the same.
const MORE_MEMORY: u64 = 4 << 10;

/// What a node takes.
struct Size {
    used: u64,
    ours: u64,
    journal: u64,
    said: u64,
    memory: u64,
}

impl fmt::Display for Size {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            to,
            "{} MiB used, {} bytes of ours, {} MiB of journal, {} bytes said, {} KiB of memory",
            self.used, self.ours, self.journal, self.said, self.memory
        )
    }
}

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let first = rig.before().await?;
    let mut sizes = Vec::new();
    for number in 1..=UPGRADES {
        if number == 1 {
            rig.ask(&image).await?;
        } else {
            rig.ask_raw(names::KEPT_IMAGE).await?;
        }
        rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
        let commit = if number % 2 == 1 {
            &image.digest
        } else {
            &first.commit
        };
        rig.expect_runs(commit).await?;
        rig.expect_clean().await?;
        rig.withdraw().await?;
        let size = measure(rig).await?;
        rig.progress.step(&format!("upgrade {number}: {size}"));
        sizes.push(size);
    }
    expect_bounded(&sizes)
}

async fn measure(rig: &mut Rig) -> Result<Size> {
    let told = rig.guest.run(MEASURE).await?;
    let numbers: Vec<u64> = told
        .lines()
        .map(|line| line.trim().parse())
        .collect::<Result<_, _>>()?;
    let [used, ours, journal, said, memory] = numbers[..] else {
        bail!("five numbers were asked for, and the node says {told:?}");
    };
    Ok(Size {
        used,
        ours,
        journal,
        said,
        memory,
    })
}

/// From the second on both systems are there, and the way is the same.
fn expect_bounded(sizes: &[Size]) -> Result<()> {
    let [_, second, third, .., before, last] = sizes else {
        bail!("{} upgrades are no row", sizes.len());
    };
    let words = |of: &Size, former: &Size| of.said.saturating_sub(former.said);
    ensure!(
        words(third, second) > 0,
        "an upgrade of which the journal says nothing: what is measured is not there"
    );
    let grows = [
        ("the disk", last.used > second.used + MORE),
        ("what is ours", last.ours > second.ours + MORE_OF_OURS),
        ("the journal", last.journal > second.journal + MORE),
        (
            "what an upgrade says",
            words(last, before) > words(third, second) + MORE_WORDS,
        ),
        (
            "the agent's memory",
            last.memory > second.memory + MORE_MEMORY,
        ),
    ];
    let grows: Vec<_> = grows
        .into_iter()
        .filter_map(|(what, grows)| grows.then_some(what))
        .collect();
    ensure!(
        grows.is_empty(),
        "after {} upgrades {} has grown; after the second: {second}; after the last: {last}",
        sizes.len(),
        grows.join(", ")
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(changed: impl Fn(u64, &mut Size)) -> Vec<Size> {
        let size = |number| {
            let mut size = Size {
                used: 5000,
                ours: 9000,
                journal: 40,
                said: number * 20_000,
                memory: 14_000,
            };
            changed(number, &mut size);
            size
        };
        (1..=10).map(size).collect()
    }

    #[test]
    fn equal_upgrades_are_bounded_and_each_growing_size_is_named() {
        assert!(expect_bounded(&row(|_, _| ())).is_ok());
        let named = |changed: fn(u64, &mut Size)| {
            let said = expect_bounded(&row(changed)).err();
            said.map(|error| error.to_string()).unwrap_or_default()
        };
        let leak = named(|number, size| size.memory += number * 1000);
        assert!(
            leak.contains("upgrades the agent's memory has grown"),
            "{leak}"
        );
        let noise = named(|number, size| size.said += number * number * 8000);
        assert!(noise.contains("what an upgrade says has grown"), "{noise}");
        let mute = named(|_, size| size.said = 0);
        assert!(mute.contains("the journal says nothing"), "{mute}");
    }
}

//! Four upgrades in a row on one node: to three new images, and back to the one that it keeps. The
//! first system is gone and the last but one is kept. The disk, /boot, the record, the notes, the
//! agent's memory and its journal output do not grow.

use std::fmt;

use anyhow::bail;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "four-upgrades-in-a-row",
    core: false,
    disk: DiskKind::Bios,
    images: &IMAGES,
    run: |rig| Box::pin(run(rig)),
};

/// The last upgrade goes back from the last of them.
const IMAGES: [&str; 3] = ["v2", "v3", "v4"];

/// Prints one value per line: MiB on both file systems, bytes of our files, MiB of the journal,
/// bytes of our units' output in it since the installation, and the agent's peak in KiB. The peak
/// is of this boot, in which the agent judged and blessed the trial. The record that the agent read
/// is what could have grown.
const MEASURE: &str = r"sync
df --output=used -B1M /sysroot /boot | awk 'NR > 1 { sum += $1 } END { print sum }'
du --bytes --summarize /sysroot/ostree/careen | cut -f1
du --block-size=1M --summarize /var/log/journal | cut -f1
journalctl --quiet --unit 'careen-*' --output cat | wc --bytes
awk '/^VmHWM:/ { print $2 }' /proc/$(systemctl show --value -p MainPID careen-agent)/status";

/// The record holds the last ten upgrades and no more. The journal grows up to its own limit, and
/// its files grow by eight MiB at a time.
const MORE: u64 = 64;
const MORE_OF_OURS: u64 = 64 << 10;
/// The bytes that an upgrade may log beyond the one before the last: one more wait, or one more
/// try.
const MORE_WORDS: u64 = 64 << 10;
/// In KiB. An allocator does not always take the same amount.
const MORE_MEMORY: u64 = 4 << 10;

/// The space that a node uses.
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
    let first = rig.before().await?;
    let images: Vec<_> = IMAGES
        .map(|name| rig.image(name))
        .into_iter()
        .collect::<Result<_>>()?;
    let mut sizes = Vec::new();
    for image in &images {
        let before = rig.before().await?;
        rig.ask(image).await?;
        rig.expect_upgraded(&before, image).await?;
        sizes.push(after_an_upgrade(rig).await?);
    }
    expect_first_is_gone(rig, &first).await?;
    rig.ask_raw(names::KEPT_IMAGE).await?;
    rig.wait_answer(Answer::Upgraded, UPGRADE).await?;
    rig.expect_runs(&images[1].digest).await?;
    sizes.push(after_an_upgrade(rig).await?);
    expect_bounded(&sizes)
}

/// Withdraws the request of an upgrade that has ended, and measures what the upgrade left.
async fn after_an_upgrade(rig: &mut Rig) -> Result<Size> {
    rig.expect_clean().await?;
    rig.withdraw().await?;
    let size = measure(rig).await?;
    rig.progress.step(&format!("now there are {size}"));
    Ok(size)
}

async fn expect_first_is_gone(rig: &mut Rig, first: &Before) -> Result<()> {
    let status = rig.guest.run("ostree admin status").await?;
    ensure!(
        !status.contains(&first.commit),
        "the first system is still there:\n{status}"
    );
    let deployments = rig.deployments().await?;
    ensure!(deployments == 2, "not two deployments:\n{status}");
    Ok(())
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

/// From the second upgrade on both systems are there, and every upgrade takes the same path.
fn expect_bounded(sizes: &[Size]) -> Result<()> {
    let [_, second, third, last] = sizes else {
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
            words(last, third) > words(third, second) + MORE_WORDS,
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
        (1..=4).map(size).collect()
    }

    #[test]
    fn equal_upgrades_are_bounded_and_each_growing_size_is_named() {
        assert!(expect_bounded(&row(|_, _| ())).is_ok());
        let named = |changed: fn(u64, &mut Size)| {
            let said = expect_bounded(&row(changed)).err();
            said.map(|error| error.to_string()).unwrap_or_default()
        };
        let leak = named(|number, size| size.memory += number * 3000);
        assert!(
            leak.contains("upgrades the agent's memory has grown"),
            "{leak}"
        );
        let noise = named(|number, size| size.said += number * number * 40_000);
        assert!(noise.contains("what an upgrade says has grown"), "{noise}");
        let mute = named(|_, size| size.said = 0);
        assert!(mute.contains("the journal says nothing"), "{mute}");
    }
}

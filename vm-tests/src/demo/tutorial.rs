//! docs/tutorial.md as a newcomer types it, from the first line after `make vm-shell` to the last.

mod host;
mod page;
#[cfg(test)]
mod sources;

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use rig::Rig;
use rig::guest::Output;
use rig::images::{DiskKind, ensure_commit};
use rig::node::View;
use rig::patience::within;
use rig::progress::Progress;
use testkit::programs::out;

use self::host::Host;
use self::page::{Block, Place};

/// The longest time for one block: an upgrade with its two boots.
const PATIENCE: Duration = Duration::from_secs(1200);

/// Pause before a block is typed again.
const AGAIN: Duration = Duration::from_secs(2);

/// Runs the tutorial.
///
/// # Errors
///
/// Fails at the first line that ends in another way than the page says.
pub async fn run() -> Result<()> {
    let blocks = page::blocks(&page::text()?)?;
    let progress = Progress::new("demo-tutorial");
    progress.step("the images of `make demo`: built on first use, then from the cache");
    for image in ["v2", "kubelet-crash"] {
        ensure_commit(image)?;
    }
    progress.step("a cluster and a node that has joined it: frozen on first use, then continued");
    // The folder of `make vm-shell`, which the page names.
    let dir = out().join("shell");
    let mut rig = Rig::start(DiskKind::Bios, &dir, progress).await?;
    let host = Host::new(&rig, &dir.join("tutorial"))?;
    let mut section = String::new();
    for block in &blocks {
        if block.section != section {
            println!("\n== {}", block.section);
            section.clone_from(&block.section);
        }
        let told = || format!("docs/tutorial.md, line {}", block.line);
        play(block, &mut rig, &host).await.with_context(told)?;
    }
    println!("\nThat was docs/tutorial.md, line by line.");
    Ok(())
}

async fn play(block: &Block, rig: &mut Rig, host: &Host) -> Result<()> {
    if !matches!(block.mark.place, Place::Host | Place::Node) {
        return Ok(());
    }
    if let Some(phase) = &block.mark.when {
        let what = format!("an upgrade that has come to {phase}");
        let has_come = |view: &View| has_come_to(view, phase);
        rig.node.wait(&what, PATIENCE, has_come).await?;
    }
    let begun = Instant::now();
    loop {
        let output = within(PATIENCE, type_in(block, rig, host)).await;
        let output = output.with_context(|| format!("no end within {PATIENCE:?}"))??;
        expect(block, &output)?;
        let wanted = block.mark.until.as_ref();
        if wanted.is_none_or(|text| output.text.contains(text)) {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < PATIENCE,
            "{wanted:?} is never said; at last: {}",
            output.text
        );
        tokio::time::sleep(AGAIN).await;
    }
}

/// Also true if the Node has passed the phase meanwhile.
fn has_come_to(view: &View, phase: &str) -> bool {
    let reached = view.status.iter().flat_map(|status| &status.reached);
    let mut phases = reached.map(|reached| reached.phase.as_str());
    view.phase() == phase || phases.any(|reached| reached == phase)
}

async fn type_in(block: &Block, rig: &mut Rig, host: &Host) -> Result<Output> {
    if block.mark.place == Place::Host {
        println!();
        return host.run(&block.typed, block.mark.answers.as_deref()).await;
    }
    let mut all = Output {
        code: 0,
        text: String::new(),
    };
    for line in &block.typed {
        println!("\nnode1# {line}");
        let output = rig.guest.try_run(line, PATIENCE).await?;
        print!("{}", output.text);
        all.text += &output.text;
        all.code = output.code;
        if all.code != 0 {
            break;
        }
    }
    Ok(all)
}

fn expect(block: &Block, output: &Output) -> Result<()> {
    let mark = &block.mark;
    ensure!(
        mark.exits.contains(&output.code),
        "it ends with {}, not with {:?}",
        output.code,
        mark.exits
    );
    let says = mark.says.as_ref();
    ensure!(
        says.is_none_or(|text| output.text.contains(text)),
        "it does not say {says:?}"
    );
    Ok(())
}

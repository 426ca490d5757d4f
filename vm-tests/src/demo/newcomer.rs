//! docs/images.md and docs/install.md as a newcomer types them: from Debian's packages to a node that was upgraded, and one that came back from
//! a bad image. What of the pages is typed, and by whom, stands in [`pages`]; what the rig does in the place of the rest in `newcomer/rig.sh`.

mod machine;
mod pages;
mod typed;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use upgrade::exit;
use upgrade::report::Answer;

use self::machine::Newcomer;
use self::pages::{Block, Fate, blocks};
use self::typed::Made;
use crate::images;
use crate::programs;
use crate::progress::Progress;
use crate::qemu::Firmware;
use crate::repo_server::RepoServer;
use crate::runner::out;

/// In the pages' lines.
const COMMIT: &str = "<commit>";

/// Types both pages from their beginning, in a folder that is emptied first.
///
/// # Errors
/// At the first line that ends otherwise than the page says.
pub async fn run() -> Result<()> {
    let blocks = blocks()?;
    let progress = Progress::new("newcomer");
    let dir = out().join("newcomer");
    if dir.exists() {
        fs::remove_dir_all(&dir)?;
    }
    let folder = typed::folder(&dir);
    fs::create_dir_all(&folder)?;
    let dir = dir.canonicalize()?;
    // Before the images, which name its port.
    let server = RepoServer::start(&folder.canonicalize()?.join("repo")).await?;
    progress.step("docs/images.md, and docs/install.md up to the first boot, on this machine");
    let made = typed::on_this_machine(&blocks, &dir, server.port())?;
    whole(&blocks, &made, &dir.join("bios")).await?;
    without_a_fault(&blocks, &made, &dir.join("uefi")).await?;
    println!(
        "\nThat was docs/images.md and docs/install.md, from Debian's packages to a node of its own, by BIOS and by UEFI."
    );
    Ok(())
}

/// The node that BIOS starts, with all that the pages tell.
async fn whole(blocks: &[Block], made: &Made, dir: &Path) -> Result<()> {
    let newcomer = Newcomer::boot(&made.bios, Firmware::Bios, dir).await?;
    told(newcomer, blocks, &made.commits, dir).await
}

/// The one that UEFI starts, with what goes well: the bad image's way back is the same grub.cfg's.
async fn without_a_fault(blocks: &[Block], made: &Made, dir: &Path) -> Result<()> {
    let fates = [Fate::Policy, Fate::Node, Fate::On];
    let blocks: Vec<_> = blocks
        .iter()
        .filter(|block| fates.contains(&block.fate))
        .cloned()
        .collect();
    let newcomer = Newcomer::boot(&made.uefi, Firmware::Uefi, dir).await?;
    told(newcomer, &blocks, &made.commits, dir).await
}

/// Tells it, and keeps what a person needs where it ends otherwise.
async fn told(
    mut newcomer: Newcomer,
    blocks: &[Block],
    commits: &[String; 3],
    dir: &Path,
) -> Result<()> {
    let told = tell(&mut newcomer, blocks, commits).await;
    if told.is_err() {
        newcomer.keep_evidence(dir).await;
    }
    told.with_context(|| format!("what there is of it lies in {}", dir.display()))
}

/// What docs/install.md says of a machine that has booted, in its order.
async fn tell(
    newcomer: &mut Newcomer,
    blocks: &[Block],
    [first, bad, good]: &[String; 3],
) -> Result<()> {
    newcomer.expect_runs(first).await?;
    newcomer.join().await?;
    for block in blocks {
        let typed = |commit: &str| block.text.replace(COMMIT, commit);
        match block.fate {
            Fate::Policy => newcomer.policy(&block.text).await?,
            Fate::Node => newcomer.type_there(&block.text).await?,
            Fate::Same => what_runs(newcomer, &typed(first)).await?,
            Fate::Back => {
                back(newcomer, &typed(bad)).await?;
                newcomer.expect_runs(first).await?;
            }
            Fate::On => {
                on(newcomer, &typed(good)).await?;
                newcomer.expect_runs(good).await?;
            }
            Fate::Once | Fate::Each | Fate::Disk | Fate::Bios | Fate::Uefi => {}
            Fate::Again | Fate::Bad | Fate::Nobody(_) => {}
        }
    }
    Ok(())
}

/// The image that runs is asked for: at once, and without a reboot.
async fn what_runs(newcomer: &mut Newcomer, typed: &str) -> Result<()> {
    let boot = newcomer.boot_id().await?;
    newcomer.type_here(typed, exit::DONE).await?;
    newcomer.wait_answer(Answer::Upgraded).await?;
    let now = newcomer.boot_id().await?;
    ensure!(
        now == boot,
        "the image that runs was answered with a reboot"
    );
    Ok(())
}

/// The second point of the order: a bad image, and why it was left.
async fn back(newcomer: &mut Newcomer, typed: &str) -> Result<()> {
    let (upgrade, explain) = typed.split_once('\n').context("two lines are wanted")?;
    newcomer.type_here(upgrade, exit::FAILED).await?;
    let view = newcomer.wait_answer(Answer::Failed).await?;
    let code = view.status.and_then(|status| status.code);
    let code = code.context("the Node does not say why")?;
    let said = newcomer.type_here(explain, exit::DONE).await?;
    ensure!(said.contains(&code), "it does not say {code}");
    let runbook = fs::read_to_string(programs::home().join("../docs/runbook.md"))?;
    let section = format!("### {code}\n");
    ensure!(runbook.contains(&section), "the runbook has no {code}");
    Ok(())
}

/// The third point: the good image.
async fn on(newcomer: &mut Newcomer, typed: &str) -> Result<()> {
    // An emulated node takes its time to answer.
    let typed = typed.replacen('\n', " --timeout 5m\n", 1);
    newcomer.type_here(&typed, exit::DONE).await?;
    newcomer.wait_answer(Answer::Upgraded).await?;
    let [_, (newer, _)] = images::kubernetes()?;
    newcomer.expect_kubelet(newer).await
}

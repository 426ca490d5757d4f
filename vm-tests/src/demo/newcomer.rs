//! docs/images.md and docs/install.md as a newcomer types them: from Debian's packages to a node
//! that was upgraded, and one that fell back from a bad image. [`pages`] says which parts of the
//! pages are typed, and where. `newcomer/rig.sh` does the rest for the rig.

mod machine;
mod pages;
mod typed;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use rig::images;
use rig::progress::Progress;
use rig::qemu::Firmware;
use rig::repo_server::RepoServer;
use testkit::programs;
use testkit::programs::out;
use upgrade::exit;
use upgrade::report::Answer;

use self::machine::Newcomer;
use self::pages::{Block, Fate, blocks};
use self::typed::Made;

/// The placeholder in the pages' lines.
const COMMIT: &str = "<commit>";

/// Types both pages from the beginning, in a folder that is emptied first.
///
/// # Errors
///
/// Fails at the first line that ends in another way than the page says.
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
    // Starts before the images, which name its port.
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

/// The BIOS node, with everything on the pages.
async fn whole(blocks: &[Block], made: &Made, dir: &Path) -> Result<()> {
    let newcomer = Newcomer::boot(&made.bios, Firmware::Bios, dir).await?;
    told(newcomer, blocks, &made.commits, dir).await
}

/// The UEFI node, with the successful steps only. The fallback from a bad image uses the same
/// grub.cfg.
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

/// Runs the steps, and collects what a person needs if they fail.
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
    told.with_context(|| format!("what there is of it is in {}", dir.display()))
}

/// The steps of docs/install.md for a booted machine, in order.
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

/// Requests the running image. The answer comes at once, without a reboot.
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

/// The second step: a bad image, and why it was left.
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

/// The third step: the good image.
async fn on(newcomer: &mut Newcomer, typed: &str) -> Result<()> {
    // An emulated node takes time to answer.
    let typed = typed.replacen('\n', " --timeout 5m\n", 1);
    newcomer.type_here(&typed, exit::DONE).await?;
    newcomer.wait_answer(Answer::Upgraded).await?;
    let [_, (newer, _)] = images::kubernetes()?;
    newcomer.expect_kubelet(newer).await
}

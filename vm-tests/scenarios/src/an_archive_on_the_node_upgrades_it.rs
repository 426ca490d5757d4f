//! A site without a network: a person copies the image to the node as a file. An archive with
//! another digest, and one in a folder that the policy does not name, leave the node unchanged. The
//! good one upgrades the node while no remote answers. Nothing of its unpacked content is left.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use anyhow::Context;
use rig::images::{self, Commit};
use rig::repo_server::RepoServer;
use testkit::cargo::careen_image;
use testkit::registry::Registry;
use tokio::process::Command;

use super::prelude::*;

/// The scenario.
pub const SCENARIO: Scenario = Scenario {
    name: "an-archive-on-the-node-upgrades-it",
    core: false,
    disk: DiskKind::Bios,
    images: &["v2"],
    run: |rig| Box::pin(run(rig)),
};

/// The policy of `docs/images.md`.
const POLICY: &str = r#"tries = 2
retry-seconds = 1
[registry]
archives = ["/srv/images"]
signed-by = "careen""#;

/// The archive's name, both in the folder where it is made and on the node.
const NAME: &str = "os.tar";

async fn run(rig: &mut Rig) -> Result<()> {
    let image = rig.image("v2")?;
    let pinned = bring(rig, &image).await?;
    rig.policy(POLICY).await?;
    rig.repo.go_away();
    rig.expect_doctor_content().await?;
    let before = rig.before().await?;
    let traces = rig.traces().await?;
    let other = format!("oci-archive:/srv/images/{NAME}@sha256:{}", "0".repeat(64));
    let elsewhere = pinned.replacen("/srv/images", "/var/tmp", 1);
    for (image, code) in [(other, "NoSuchImage"), (elsewhere, "RemoteNotAllowed")] {
        rig.ask_raw(&image).await?;
        rig.expect_failed(&[code], 5 * MINUTE).await?;
        rig.expect_untouched(&before, &traces).await?;
        rig.withdraw().await?;
    }

    rig.ask_raw(&pinned).await?;
    rig.expect_upgraded(&before, &image).await?;
    rig.expect_one_trial()?;
    expect_nothing_unpacked(rig).await
}

/// Makes the archive and copies it to the node. Returns the image to request.
async fn bring(rig: &mut Rig, image: &Commit) -> Result<String> {
    let folder = rig.dir().join("archive");
    fs::create_dir_all(&folder)?;
    // The registry's folder provides skopeo. Nothing is pushed.
    let registry = Registry::start(&folder).await?;
    rig.progress.step("careen-image writes an archive");
    let made = make(&folder, image).await?;
    drop(registry);
    let served = RepoServer::start(&folder).await?;
    rig.progress.step("bringing it to the node");
    let script = format!(
        "install -d /srv/images && curl -sSf -o /srv/images/{NAME} http://10.0.2.2:{}/{NAME}",
        served.port()
    );
    rig.guest.run_within(&script, 10 * MINUTE).await?;
    fs::remove_file(folder.join(NAME))?;
    let here = folder.display().to_string();
    Ok(made.replacen(&here, "/srv/images", 1))
}

async fn make(folder: &Path, image: &Commit) -> Result<String> {
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new(careen_image()?)
        .env("PATH", format!("{}:{path}", folder.display()))
        .arg("--repo")
        .arg(images::repository()?)
        .arg(&image.digest)
        .arg(format!("oci-archive:{}/{NAME}", folder.display()))
        .stdin(Stdio::null())
        .output()
        .await
        .context("cannot run careen-image")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "careen-image: {complaint}");
    Ok(String::from_utf8(output.stdout)?.trim_end().to_owned())
}

/// Checks that no unpacked content is left. Its folder may be gone too.
async fn expect_nothing_unpacked(rig: &mut Rig) -> Result<()> {
    let there = "[ ! -e /var/cache/careen ] || ls -A /var/cache/careen";
    let left = rig.guest.run(there).await?;
    ensure!(left.is_empty(), "left in /var/cache/careen: {left}");
    Ok(())
}
